import type { Command } from 'commander';
import { validateHolderId } from '../../coordinators/index.js';
import { parseDuration } from '../duration.js';
import { outputOption } from '../output-option.js';
import { askStore, type Session, type Wiring } from '../session.js';
import { addSettings, type Flags, resolveSettings } from '../settings/index.js';
import { typedName, typedReason, typedText } from '../typed.js';
import type { OperatorAct } from './act.js';

interface OperatorFlags extends Flags {
  readonly reason?: string;
  readonly yes?: true;
  readonly to?: string;
  readonly reserve?: string;
  readonly output: 'text' | 'json';
}

/** What an operator gave, checked. */
interface Order {
  readonly name: string;
  readonly by: string;
  readonly flags: OperatorFlags;
}

const exitStatuses = `
Exit status: 0 the effect was seen (or was there before), 1 something else came
of it, 64 usage, 69 store unreachable, 75 not seen in time (it stands all the
same), 77 nothing was done: you said no, or somebody else holds the name by now.
`;

/** The commands of operators: each shows its plan, asks, acts, and waits until the effect is seen. */
export function addOperators(program: Command, wiring: Wiring): void {
  addHandoff(program, wiring);
  addRevoke(program, wiring);
  addSuspend(program, wiring);
  addResume(program, wiring);
}

function addHandoff(program: Command, wiring: Wiring): void {
  const command = program
    .command('handoff')
    .summary('move a name to a holder that you name')
    .description(
      'Ends the present term and keeps the name for one holder id alone for a while. The present holder is told at its next renewal and releases the name when its work has stopped.',
    )
    .requiredOption('--to <id>', 'the holder id that gets the name')
    .option('--reserve <duration>', 'how long the name is kept for it', '30s')
    .option('--reason <text>', 'why, for the history (default: handoff to ID)');
  addOperator(command, wiring, ['payments --to replica-2'], async ({ name, by, flags }) => {
    const to = validateHolderId(typedText(flags.to ?? '', '--to'), '--to');
    const reserveMs = parseDuration(flags.reserve ?? '', '--reserve', { smallestMs: 1 });
    const reason = reasonOf(flags, `handoff to ${to}`);
    const { handoffAct } = await import('./handoff.js');
    return handoffAct(name, { by, reason }, { to, reserveMs });
  });
}

function addRevoke(program: Command, wiring: Wiring): void {
  const command = program
    .command('revoke')
    .summary('end the present term of a name')
    .description(
      'Ends the present term. Its holder is told at its next renewal; the next in the queue is granted the name when it has been released, or its ttl is over.',
    );
  addReason(command);
  addOperator(command, wiring, ['payments --reason "stuck since 3:10"'], async (order) => {
    const { revokeAct } = await import('./revoke.js');
    return revokeAct(order.name, actOf(order));
  });
}

function addSuspend(program: Command, wiring: Wiring): void {
  const command = program
    .command('suspend')
    .summary('the kill switch: nobody may hold a name')
    .description(
      'Ends the present term and grants the name to nobody, across restarts of everything but the store, until it is resumed.',
    );
  addReason(command);
  addOperator(command, wiring, ['payments --reason INC-12 --yes'], async (order) => {
    const { suspendAct } = await import('./suspend.js');
    return suspendAct(order.name, actOf(order));
  });
}

function addResume(program: Command, wiring: Wiring): void {
  const command = program
    .command('resume')
    .summary('end a suspension')
    .description(
      'Lets a suspended name be held again, and waits until one of its candidates does.',
    );
  addReason(command);
  addOperator(command, wiring, ['payments --reason "INC-12 is over"'], async (order) => {
    const { resumeAct } = await import('./resume.js');
    return resumeAct(order.name, actOf(order));
  });
}

function addReason(command: Command): void {
  command.requiredOption('--reason <text>', 'why, for the history');
}

function addOperator(
  command: Command,
  wiring: Wiring,
  examples: readonly string[],
  prepare: (order: Order) => Promise<OperatorAct>,
): void {
  const verb = command.name();
  command
    .argument('<name>', 'the name of a lease or election')
    .option('-y, --yes', 'do not ask; needed without a terminal')
    .addOption(outputOption(['text', 'json']));
  addSettings(command, ['url', 'namespace', 'by', 'timeout']);
  const lines = examples.map((example) => `  tenure ${verb} ${example}\n`).join('');
  command.addHelpText('after', `\nExamples:\n${lines}${exitStatuses}`);
  command.action((name: string, flags: OperatorFlags) =>
    askStore(wiring, verb, flags, (session) => runOperator(session, name, flags, prepare)),
  );
}

async function runOperator(
  session: Session,
  name: string,
  flags: OperatorFlags,
  prepare: (order: Order) => Promise<OperatorAct>,
): Promise<number> {
  typedName(name, 'NAME');
  const { by, timeout } = resolveSettings(['by', 'timeout'], flags);
  const act = await prepare({ name, by: by.value, flags });
  const { operate } = await import('./operate.js');
  return await operate(session, act, {
    yes: flags.yes ?? false,
    timeoutMs: timeout.value,
    format: flags.output,
  });
}

function actOf({ by, flags }: Order): { readonly by: string; readonly reason: string } {
  return { by, reason: reasonOf(flags, '') };
}

function reasonOf({ reason }: OperatorFlags, otherwise: string): string {
  return typedReason(reason ?? otherwise);
}
