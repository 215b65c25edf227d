import type { Command } from 'commander';
import { OptionError } from '../../errors/index.js';
import { mostKeys } from '../../once/records.js';
import { validateKey } from '../../once/requests.js';
import { outputOption } from '../output-option.js';
import type { Wiring } from '../session.js';
import { addSettings, type Flags, resolveSettings } from '../settings/index.js';
import { typedReason, typedText } from '../typed.js';
import type { OutcomeFlags } from './outcome.js';
import { runOnEffects } from './session.js';

interface ListFlags extends Flags {
  readonly output: 'text' | 'json';
  readonly limit: string;
}

interface SettleFlags extends Flags, OutcomeFlags {
  readonly output: 'text' | 'json';
  readonly reason: string;
  readonly yes?: true;
}

/** `tenure once`, with a command for each thing that can be done. */
export function addOnce(program: Command, wiring: Wiring): void {
  const once = program
    .command('once')
    .summary('look at effects of unknown outcome, and settle them')
    .description(
      'Effects that cannot be fenced, a payment or a mail, of programs that use Once: those that were begun, and nobody knows whether they took place. PostgreSQL, SQLite and Redis keep effects.',
    )
    .addHelpText(
      'after',
      `
Examples:
  tenure once list
  tenure once settle charge/order-17 --done '{"cents":200}' --reason INC-12
  tenure once settle charge/order-18 --not-applied --reason "not at the bank"
`,
    );
  addList(once, wiring);
  addSettle(once, wiring);
}

function addList(once: Command, wiring: Wiring): void {
  const command = once
    .command('list')
    .summary('show the effects of unknown outcome')
    .description(
      'Shows every effect that was begun and of which nobody knows whether it took place, the earliest deadline first: since when, which attempt it was, when it was begun and by whom, and what it said last.',
    )
    .option('--limit <count>', `how many: 1 to ${mostKeys}`, '100')
    .addOption(outputOption(['text', 'json']));
  addSettings(command, ['url', 'namespace']);
  const examples = '  tenure once list\n  tenure once list --limit 1000 -o json\n';
  command.addHelpText('after', `\nExamples:\n${examples}`);
  command.action((flags: ListFlags) =>
    runOnEffects(wiring, 'list', flags, async (session) => {
      const limit = parseLimit(flags.limit);
      return (await import('./list.js')).list(session, limit, flags.output);
    }),
  );
}

const settleHelp = `
Examples:
  tenure once settle charge/order-17 --done '{"cents":200}' --reason INC-12
  tenure once settle mail/invoice-7 --done --reason "it is in the mailbox"
  tenure once settle charge/order-18 --not-applied --reason "not at the bank"

Exit status: 0 it is so, 1 there is nothing to settle: it is under way, done,
free or not there, 64 usage, 69 store unreachable, 77 nothing was done: you said
no, or somebody else has settled or begun it meanwhile.
`;

function addSettle(once: Command, wiring: Wiring): void {
  const command = once
    .command('settle')
    .summary('decide whether an effect of unknown outcome took place')
    .description(
      'Decides about an effect of unknown outcome, after somebody has looked where it would show: it took place, or it did not and may be had again. Shows what it will do, and asks.',
    )
    .argument('<key>', 'the key of an effect')
    .option('--done [json]', 'it took place; with the result for those who call for it')
    .option('--not-applied', 'it did not, and cannot any more: the next call has it')
    .requiredOption('--reason <text>', 'why, kept with the key')
    .option('--keep <duration>', 'how long that is remembered, as keepMs of Once', '30d')
    .option('-y, --yes', 'do not ask; needed without a terminal')
    .addOption(outputOption(['text', 'json']));
  addSettings(command, ['url', 'namespace', 'by', 'timeout']);
  command.addHelpText('after', settleHelp);
  command.action((key: string, flags: SettleFlags) =>
    runOnEffects(wiring, 'settle', flags, async (session) => {
      const { by, timeout } = resolveSettings(['by', 'timeout'], flags);
      const { outcomeOf } = await import('./outcome.js');
      const order = {
        ...{ key: keyOf(key), outcome: outcomeOf(flags), by: by.value },
        reason: typedReason(flags.reason),
        ...{ timeoutMs: timeout.value, yes: flags.yes ?? false, format: flags.output },
      };
      return (await import('./settle.js')).settle(session, order);
    }),
  );
}

/** @throws {OptionError} naming the argument. */
function keyOf(key: string): string {
  typedText(key, 'KEY');
  try {
    return validateKey(key);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new OptionError('KEY', key, 'is not the key of an effect', error.remedy);
  }
}

/** @throws {OptionError} */
function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,4}$/.test(text) && limit >= 1 && limit <= mostKeys) return limit;
  throw new OptionError('--limit', text, 'is no count', `use a whole number from 1 to ${mostKeys}`);
}
