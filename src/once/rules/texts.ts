import { RecordCorruptError } from '../../errors/index.js';
import type { OnceSettlement, OnceState } from '../records.js';
import type { StoredKey } from './decisions.js';

/*
 * How a store that keeps texts keeps a key: as JSON. What is read back is checked, since anybody may have written it.
 */

export const encodeKey = (stored: StoredKey): string => JSON.stringify(stored);

const states: readonly unknown[] = ['started', 'done', 'unknown', 'free'] satisfies OnceState[];
const outcomes: readonly unknown[] = ['done', 'not-applied', 'repeated'];

/** @throws {RecordCorruptError} */
export function decodeKey(text: string, key: string): StoredKey {
  const found = new Fields(text, key);
  const state = found.one('state', states) as OnceState;
  const endedAtMs = found.optional('endedAtMs', 'number');
  const expiresAtMs = found.optional('expiresAtMs', 'number');
  const result = found.optional('result', 'string');
  const detail = found.optional('detail', 'string');
  return {
    state,
    attempt: found.number('attempt'),
    owner: found.text('owner'),
    startedBy: found.text('startedBy'),
    startedAtMs: found.number('startedAtMs'),
    deadlineAtMs: found.number('deadlineAtMs'),
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
    attempt: found.number('attempt'),
    outcome: found.one('outcome', outcomes) as OnceSettlement['outcome'],
    by: found.text('by'),
    reason: found.text('reason'),
    atMs: found.number('atMs'),
  };
}

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
    return this.#must(this.optional(name, 'string'));
  }

  number(name: string): number {
    return this.#must(this.optional(name, 'number'));
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

  optional(name: string, kind: 'string'): string | undefined;
  optional(name: string, kind: 'number'): number | undefined;
  optional(name: string, kind: string): unknown {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    const isRight = kind === 'number' ? Number.isFinite(value) : typeof value === kind;
    if (!isRight) throw this.#corrupt();
    return value;
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
    return new RecordCorruptError(
      `what is stored of the idempotency key "${this.#key}" cannot be read: something else has written it. It was left as it is, and its effect is not called: restore it, or remove it if the effect has surely not taken place.`,
    );
  }
}
