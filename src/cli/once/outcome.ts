import { OptionError } from '../../errors/index.js';
import type { OnceSettleRequest } from '../../once/index.js';
import { checkKeep } from '../../once/requests.js';
import { kept } from '../../once/results.js';
import { parseDuration } from '../duration.js';
import { UsageError } from '../exit-status.js';

/** What is to become of a key of unknown outcome. */
export type Outcome = OnceSettleRequest['end'];

export interface OutcomeFlags {
  /** `true`: without a result. */
  readonly done?: string | true;
  readonly notApplied?: true;
  readonly keep: string;
}

const aCenturyMs = 100 * 365 * 24 * 3_600_000;

/** @throws {UsageError} unless it is one of the two. @throws {OptionError} */
export function outcomeOf({ done, notApplied, keep }: OutcomeFlags): Outcome {
  if ((done === undefined) === (notApplied === undefined)) {
    const what = done === undefined ? 'neither of' : 'both';
    throw new UsageError(
      `${what} --done and --not-applied ${done === undefined ? 'was' : 'were'} given: say --done, with its result if it has one, if the effect took place, or --not-applied if it did not and cannot any more.`,
    );
  }
  const limits = { smallestMs: 60_000, largestMs: aCenturyMs };
  const keepMs = checkKeep('--keep', parseDuration(keep, '--keep', limits));
  if (done === undefined) return { kind: 'not-applied', keepMs };
  return { kind: 'done', result: done === true ? undefined : resultOf(done), keepMs };
}

/** As the effect's own result would be kept. */
function resultOf(text: string): string | undefined {
  const { result, detail } = kept(parsed(text));
  if (detail === undefined) return result;
  const bytes = `${Buffer.byteLength(text)} bytes`;
  throw new OptionError('--done', bytes, `cannot be kept: ${detail}`, 'pass a small JSON value');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new OptionError(
      '--done',
      text,
      'is no JSON',
      `write a text with quotes of its own, as in --done '"receipt-7"', or leave the value out if the effect has no result`,
    );
  }
}
