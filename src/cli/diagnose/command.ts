import type { Command } from 'commander';
import { OptionError } from '../../errors/index.js';
import { durationForm, parseDuration } from '../duration.js';
import { problemOf } from '../naming.js';
import { outputOption } from '../output-option.js';
import { askStore, type Wiring } from '../session.js';
import { addSettings, type Flags } from '../settings/index.js';
import { typedName } from '../typed.js';

interface DiagnoseFlags extends Flags {
  readonly output: 'text' | 'json';
  readonly since?: string;
  readonly before?: string;
}

/** `tenure diagnose`. */
export function addDiagnose(program: Command, wiring: Wiring): void {
  const command = program
    .command('diagnose')
    .summary('say why the terms of an election end')
    .description(
      'Judges the last terms of an election by its history and by what its leaders saw when they lost it: which causes explain the ends, from what evidence, and what to change. Changes nothing.',
    )
    .argument('<name>', 'the name of an election')
    .option(
      '--since <when>',
      'only what ended since then: 2h ago, or a time such as 2026-11-30T10:00Z',
    )
    .option('--before <duration>', 'and whether it is better than in so long before that')
    .addOption(outputOption(['text', 'json']));
  addSettings(command, ['url', 'namespace']).addHelpText(
    'after',
    `
Examples:
  tenure diagnose payments
  tenure diagnose payments --since 2026-11-30T10:00Z --before 1h
  tenure diagnose payments -o json | jq -r '.findings[0].cause'

Leaders keep their evidence in the store by themselves, unless they were told not
to (tenure run --no-evidence). Exit status: 0 also if the news is bad.
`,
  );
  command.action((name: string, flags: DiagnoseFlags) =>
    askStore(wiring, 'diagnose', flags, async (session) => {
      typedName(name, 'NAME');
      const since = flags.since === undefined ? {} : parseSince(flags.since);
      const beforeMs = flags.before === undefined ? undefined : parseBefore(flags.before);
      if (beforeMs !== undefined && flags.since === undefined)
        throw new OptionError('--before', flags.before, 'needs --since', 'say since when');
      const { report } = await import('./report.js');
      const question = { name, sinceMs: undefined, ...since, beforeMs };
      return asSince(flags.since, () => report(session, question, flags.output));
    }),
  );
}

/** What is refused of `sinceMs` was written as `--since`. @throws {OptionError} */
async function asSince<Answer>(
  text: string | undefined,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof OptionError) || error.option !== 'sinceMs') throw error;
    const remedy = 'use a time that is over, such as 2h (so long ago) or 2026-11-30T10:00Z';
    throw new OptionError('--since', text, problemOf(error), remedy);
  }
}

const longestMs = 30 * 24 * 3_600_000;
const instant = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

type Since = { readonly sinceMs: number } | { readonly lastMs: number };

/**
 * A duration is so long ago, by the store's clock where that is known. A time without its zone could be anybody's.
 *
 * @throws {OptionError}
 */
export function parseSince(text: string): Since {
  if (instant.test(text) && !Number.isNaN(Date.parse(text))) return { sinceMs: Date.parse(text) };
  if (/^\d{4}-/.test(text)) {
    const remedy = 'write it like 2026-11-30T10:00Z';
    throw new OptionError('--since', text, 'is no time with its zone', remedy);
  }
  if (/^[\d.]+(?:ms|[smhd])$/.test(text))
    return { lastMs: parseDuration(text, '--since', { largestMs: longestMs }) };
  const remedy = `use ${durationForm}, or a time such as 2026-11-30T10:00Z`;
  throw new OptionError('--since', text, 'is neither a duration nor a time', remedy);
}

function parseBefore(text: string): number {
  return parseDuration(text, '--before', { smallestMs: 1, largestMs: longestMs });
}
