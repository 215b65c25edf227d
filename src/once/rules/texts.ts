import { RecordCorruptError } from '../../errors/index.js';
import type { OnceRecord, OnceSettlement, OnceState } from '../records.js';
import type { StoredKey } from './decisions.js';
import { isAttemptNumber, isMoment, isWithinReach } from './sound.js';

/*
 * How a store that keeps texts keeps a key: as JSON. What is read back is checked, since anybody may have written it.
 */

export const encodeKey = (stored: StoredKey): string => JSON.stringify(stored);

const states: readonly unknown[] = ['started', 'done', 'unknown', 'free'] satisfies OnceState[];
const outcomes: readonly unknown[] = ['done', 'not-applied', 'repeated'];

/** @throws {RecordCorruptError} */
export function decodeKey(text: string, key: string): StoredKey {
  const found = new Fields(text, key);
  return { ...decodeShown(found, key), owner: found.text('owner') };
}

/** A record as a database shows it: what is absent is null. */
export type ShownRecord = { readonly [Name in keyof OnceRecord]: OnceRecord[Name] | null };

/** @throws {RecordCorruptError} */
export function parseRecord(shown: ShownRecord | null, key: string): OnceRecord | undefined {
  if (shown === null) return undefined;
  const found = new Fields(shown, key);
  const record = { ...decodeShown(found, key), key: found.text('key') };
  return { ...record, remainingMs: found.moment('remainingMs') };
}

function decodeShown(found: Fields, key: string): Omit<StoredKey, 'owner'> {
  const state = found.one('state', states) as OnceState;
  const startedAtMs = found.moment('startedAtMs');
  const deadlineAtMs = found.moment('deadlineAtMs');
  if (!isWithinReach(startedAtMs, deadlineAtMs)) throw corruptKey(key);
  const endedAtMs = found.optional('endedAtMs', isMoment);
  const expiresAtMs = found.optional('expiresAtMs', isMoment);
  const result = found.optional('result', isText);
  const detail = found.optional('detail', isText);
  return {
    ...{ state, startedAtMs, deadlineAtMs },
    attempt: found.attempt('attempt'),
    startedBy: found.text('startedBy'),
    ...(endedAtMs !== undefined && { endedAtMs }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(result !== undefined && { result }),
    ...(detail !== undefined && { detail }),
    settlements: found.list('settlements').map((line) => decodeSettlement(line, key)),
  };
}

function decodeSettlement(line: unknown, key: string): OnceSettlement {
  const found = new Fields(line, key);
  return {
    attempt: found.attempt('attempt'),
    outcome: found.one('outcome', outcomes) as OnceSettlement['outcome'],
    by: found.text('by'),
    reason: found.text('reason'),
    atMs: found.moment('atMs'),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** What stands in a JSON object, by name and kind. */
class Fields {
  readonly #found: object;
  readonly #key: string;

  constructor(source: unknown, key: string) {
    this.#key = key;
    const found = typeof source === 'string' ? this.#parse(source) : source;
    if (typeof found !== 'object' || found === null) throw this.#corrupt();
    this.#found = found;
  }

  text(name: string): string {
    return this.#must(this.optional(name, isText));
  }

  moment(name: string): number {
    return this.#must(this.optional(name, isMoment));
  }

  attempt(name: string): number {
    return this.#must(this.optional(name, isAttemptNumber));
  }

  one(name: string, allowed: readonly unknown[]): unknown {
    const value = this.#get(name);
    if (!allowed.includes(value)) throw this.#corrupt();
    return value;
  }

  list(name: string): readonly unknown[] {
    const value = this.#get(name);
    if (!Array.isArray(value)) throw this.#corrupt();
    return value;
  }

  /** Null is absent, too. */
  optional<Value>(name: string, is: (value: unknown) => value is Value): Value | undefined {
    const value = this.#get(name) ?? undefined;
    if (value === undefined || is(value)) return value;
    throw this.#corrupt();
  }

  #get(name: string): unknown {
    return Object.hasOwn(this.#found, name) ? Reflect.get(this.#found, name) : undefined;
  }

  #must<Value>(value: Value | undefined): Value {
    if (value === undefined) throw this.#corrupt();
    return value;
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.#corrupt();
    }
  }

  #corrupt(): RecordCorruptError {
    return corruptKey(this.#key);
  }
}

export function corruptKey(key: string): RecordCorruptError {
  return new RecordCorruptError(
    `what is stored of the idempotency key "${key}" cannot be read: something else has written it. It was left as it is, and its effect is not called: restore it, or remove it if the effect has surely not taken place.`,
  );
}
