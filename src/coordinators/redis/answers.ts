import { RecordCorruptError, StoreRefusedError } from '../../errors/index.js';
import type {
  AcquireRequest,
  AcquireResult,
  EndResult,
  NotYours,
  RenewRequest,
  RenewResult,
  StoredDocument,
  WriteDocumentResult,
} from '../contract.js';
import { groupOf } from '../names.js';
import type { RedisKeys } from './keys.js';
import { type Found, parseRecord } from './record.js';

type AcquireReply =
  | readonly ['granted', string]
  | readonly ['held', string | null, number, string | null, ('repaired' | null)?]
  | readonly ['corrupt', string];

export interface AcquireAnswer {
  readonly result: AcquireResult;
  readonly repaired: boolean;
}

/** @throws {StoreRefusedError} if no term is left. */
export function answerAcquire(
  keys: RedisKeys,
  requests: readonly AcquireRequest[],
  reply: unknown,
): AcquireAnswer[] {
  if (reply === 'no-term') {
    throw new StoreRefusedError(
      'TERMS_EXHAUSTED',
      'no term is left: an absurd "above" or clock took them. Use a new namespace.',
    );
  }
  if (reply === 'bad-term') {
    const detail = `the last term of the namespace is no term (the key "${keys.term}"): remove it`;
    return requests.map(() => ({ result: { outcome: 'corrupt', detail }, repaired: false }));
  }
  const [now, answers] = reply as [string, AcquireReply[]];
  return answers.map((one, index) => ({
    result: answerOne(keys, requests[index] as AcquireRequest, one, Number(now)),
    repaired: one[0] === 'held' && one[4] === 'repaired',
  }));
}

function answerOne(
  keys: RedisKeys,
  { name }: AcquireRequest,
  reply: AcquireReply,
  nowMs: number,
): AcquireResult {
  switch (reply[0]) {
    case 'granted':
      return { outcome: 'granted', term: Number(reply[1]) };
    case 'corrupt':
      return { outcome: 'corrupt', detail: foreignDetail(keys, name, reply[1]) };
    case 'held': {
      const [, text, remainingMs, suspension] = reply;
      const found = { text, remainingMs, suspension, nowMs };
      const current = parseRecord(name, found);
      return current === undefined || current === 'free'
        ? { outcome: 'corrupt', detail: foreign(keys, name, found).message }
        : { outcome: 'held', current };
    }
  }
}

/** The index of its group is the only other thing that a grant meets. */
function foreignDetail(keys: RedisKeys, name: string, what: string): string {
  const isIndex = what.startsWith('an index');
  const key = isIndex ? keys.group(groupOf(name)) : keys.place(name).lease;
  return `under "${name}" stands ${what} (the key "${key}")`;
}

const renewed: RenewResult = Object.freeze({ outcome: 'renewed' });

export function answerRenew(requests: readonly RenewRequest[], reply: unknown): RenewResult[] {
  const results = new Array<RenewResult>(requests.length).fill(renewed);
  const failed = reply as (number | NotYours['reason'])[];
  for (let at = 0; at < failed.length; at += 2) {
    const reason = failed[at + 1] as NotYours['reason'];
    results[Number(failed[at]) - 1] = { outcome: 'not-yours', reason };
  }
  return results;
}

export function answerEnd(reply: unknown): EndResult[] {
  return (reply as ('ended' | NotYours['reason'])[]).map((one) =>
    one === 'ended' ? { outcome: 'ended' } : { outcome: 'not-yours', reason: one },
  );
}

export function answerDocument(reply: unknown): StoredDocument | undefined {
  const [version, text] = reply as (string | null)[];
  if (version == null) return undefined;
  return { version: Number(version), text: text ?? '' };
}

/** @throws {RecordCorruptError} if something else stands in the document's place. */
export function answerWrite(name: string, key: string, reply: unknown): WriteDocumentResult {
  const [outcome, ...rest] = reply as (string | null)[];
  if (outcome === 'corrupt') throw badDocument(name, key);
  if (outcome === 'written') return { outcome, version: Number(rest[0]) };
  return { outcome: 'conflict', current: answerDocument(rest) };
}

/* Each names the key as it is in the store, since that is what has to be looked at and removed. */

/** What is wrong with what was found under a name: the record, the suspension of the name, or the table of those. */
export function foreign(keys: RedisKeys, name: string, found: Found): RecordCorruptError {
  if (parseRecord(name, { ...found, suspension: null }) === undefined)
    return badRecord(`under "${name}"`, keys.place(name).lease);
  return found.suspension === 'another type'
    ? badSuspensions(keys.suspended)
    : badSuspension(name, keys.suspended);
}

export function badRecord(where: string, key: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands ${where} (the key "${key}") is no record of a lease. Somebody else wrote it; remove it there.`,
  );
}

export function badDocument(name: string, key: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands in the place of document "${name}" (the key "${key}") is none. Somebody else wrote it; remove it there.`,
  );
}

export function badCandidates(name: string, key: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands in the place of the candidates for "${name}" (the key "${key}") is no such list. Somebody else wrote it; remove it there.`,
  );
}

export function badHistory(name: string, key: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands in the place of the history of "${name}" (the key "${key}") is none. Somebody else wrote it; remove it there.`,
  );
}

export function badSuspensions(key: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands in the place of the suspended names (the key "${key}") is no such table, so nobody is granted anything. Somebody else wrote it; remove it there.`,
  );
}

export function badSuspension(name: string, key: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands for "${name}" in the table of suspended names (the key "${key}", field "${name}") is no suspension that this version knows. It was left alone, and the name is granted to nobody: resume it with what wrote it, or remove that field there.`,
  );
}
