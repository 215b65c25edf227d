import { longestByBytes, longestReasonBytes } from '../../coordinators/acts.js';
import { isTerm, validateHolderId, validateName } from '../../coordinators/index.js';
import { validateJobName } from '../job-name.js';
import { longestDetailLength, longestProgressBytes, type RunState } from '../records.js';
import { checkRunId } from '../requests.js';

/*
 * What may stand in a field of a record. What a store keeps was written by this package, or by anybody: a value that no
 * leader can have written is not worked with, be it of the right type.
 */

/** Whether a value may stand there. */
export type Field = (value: unknown) => boolean;

/** The last moment of the year 9999, after which texts of times are longer. */
const lastMs = 253_402_300_799_999;
/** Far beyond whatever counts here, and an integer in every store. */
const mostCounted = 1_000_000_000;
/** As long as an expression may be. */
const longestText = 1_024;

const runStates: readonly RunState[] = [
  ...(['running', 'waiting', 'succeeded', 'failed', 'timed-out'] as const),
  ...(['cancelled', 'abandoned', 'skipped', 'withdrawn'] as const),
];

const whole = (least: number, most: number): Field => {
  return (value) => Number.isSafeInteger(value) && isWithin(Number(value), least, most);
};
const isWithin = (value: number, least: number, most: number) => value >= least && value <= most;

export const time = whole(0, lastMs);
export const count = whole(0, mostCounted);
export const term: Field = isTerm;
/** 0: nobody's. */
export const termOrNone: Field = (value) => value === 0 || isTerm(value);
export const text: Field = (value) => typeof value === 'string' && value.length <= longestText;
export const digest: Field = (value) => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
export const jobName = accepted(validateJobName);
export const electionName = accepted(validateName);
export const holderId = accepted((id: string) => validateHolderId(id, 'holderId'));
export const holderIdOrNone: Field = (value) => value === '' || holderId(value);
export const runId = accepted(checkRunId);
export const kind: Field = (value) => value === 'tick' || value === 'manual';
export const state: Field = (value) => runStates.some((one) => one === value);
export const by = bytes(longestByBytes);
export const reason = bytes(longestReasonBytes);
/** Of a failure, or a reason that somebody gave. */
export const detail: Field = (value) =>
  typeof value === 'string' && value.length <= Math.max(longestDetailLength, longestReasonBytes);
export const progress: Field = (value) => bytes(longestProgressBytes)(value) && isJson(value);

/** What a check takes that throws. */
function accepted(check: (value: string) => unknown): Field {
  return (value) => {
    try {
      check(value as string);
      return true;
    } catch {
      return false;
    }
  };
}

function bytes(most: number): Field {
  return (value) => typeof value === 'string' && Buffer.byteLength(value) <= most;
}

function isJson(value: unknown): boolean {
  try {
    JSON.parse(String(value));
    return true;
  } catch {
    return false;
  }
}
