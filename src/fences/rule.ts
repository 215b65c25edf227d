import { type Holder, isTerm, validateName, validateTerm } from '../coordinators/index.js';
import { requireFunction, requireObject } from '../errors/checks.js';
import { OptionError, SequenceReusedError } from '../errors/index.js';
import { notice } from '../events/index.js';
import type { FencingToken } from './contract.js';
import { corruptTerm } from './corrupt.js';

/** What a fence keeps per name. */
export interface InstalledTerm {
  readonly term: number;
  /** `Holder.digest`, so that the resource never learns the nonce. */
  readonly holderDigest: string;
}

/** What the fence does with a token: let it pass as it is, install it first, or refuse it. */
export type Verdict = 'pass' | 'install' | 'refuse';

/** The whole rule of every fence. `installed` is `undefined` if the name has none yet. */
export function judge(installed: InstalledTerm | undefined, candidate: InstalledTerm): Verdict {
  if (installed === undefined || candidate.term > installed.term) return 'install';
  // Not "equal passes": two holders can be handed one number when a store lost its last write in a failover.
  const isSameHolder = candidate.holderDigest === installed.holderDigest;
  return candidate.term === installed.term && isSameHolder ? 'pass' : 'refuse';
}

/** A term as a resource shows it: `undefined` if it is none, since whoever else wrote it may have written anything. */
export function termIn(text: unknown): number | undefined {
  const term = typeof text === 'string' && /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined;
  return isTerm(term) ? term : undefined;
}

/** What the row of a name holds. @throws {RecordCorruptError} if that is no term. */
export function installedIn(
  row: { readonly term: unknown; readonly holderDigest: unknown },
  name: string,
  table: string,
): InstalledTerm {
  const term = termIn(row.term);
  if (term === undefined) throw corruptTerm(`the row of "${name}" in ${table}`);
  return { term, holderDigest: String(row.holderDigest) };
}

/** A token as a fence stores it. */
export interface Candidate extends InstalledTerm {
  readonly name: string;
  /** The kind of resource that the fence stands at. */
  readonly resource: string;
  /** What the caller passed, to be told of a refusal. */
  readonly token: FencingToken;
}

/** A token, checked. @throws {OptionError} if its name, term or holder is not one. */
export function validateToken(resource: string, token: FencingToken): Candidate {
  requireObject('token', token, 'pass the lease itself');
  if (typeof Reflect.get(token, 'then') === 'function')
    throw new OptionError('token', 'a promise', 'is not a lease yet', 'await it first');
  const name = validateName(token.name, 'token.name');
  const term = validateTerm(token.term, 'token.term');
  return { name, term, holderDigest: validateDigest(token.holder), token, resource };
}

function validateDigest(holder: Holder): string {
  const digest: unknown = holder?.digest;
  if (typeof digest === 'string' && /^[0-9a-f]{32}$/.test(digest)) return digest;
  // The value may be a nonce or a wire form that was passed by mistake, so it is not shown.
  throw new OptionError('token.holder', 'hidden', 'is not a Holder', 'pass the lease itself');
}

/** @throws {OptionError} unless it is a function, before any transaction begins. */
export function validateWork(work: unknown): void {
  requireFunction('work', work, 'pass the function that writes, which is given the transaction');
}

/** For a check or a record outside of any transaction. @param remedy how one is begun. */
export function outsideTransaction(given: unknown, remedy: string): OptionError {
  const problem = 'is not inside a transaction, so that nothing would be guarded';
  return new OptionError('transaction', given, problem, `${remedy}, or use fence.transaction`);
}

/** The effect of one message, as `Fence.recordOnce` names it. */
export interface Effect {
  readonly scope: string;
  readonly key: string;
  readonly seq: number;
  readonly id: string;
}

/** The longest key of an effect, in UTF-8 bytes: with its scope it must fit one index entry of any resource. */
const longestKeyBytes = 1024;

/** The longest id of an effect's message, in UTF-8 bytes. */
const longestIdBytes = 255;

/** @throws {OptionError} if `scope` is no name, `key` or `id` no short text, or `seq` no integer from 0. */
export function validateEffect(scope: string, key: string, seq: number, id: string): void {
  validateName(scope, 'scope');
  validateText('key', key, longestKeyBytes);
  validateText('id', id, longestIdBytes);
  if (!Number.isSafeInteger(seq) || seq < 0) {
    throw new OptionError('seq', seq, 'is not a sequence number', 'use a safe integer from 0');
  }
}

/** NUL cannot be stored everywhere, and a lone surrogate is stored as something else. */
function validateText(option: string, text: string, longestBytes: number): void {
  const isText = typeof text === 'string' && text !== '' && !/[\0\p{Cs}]/u.test(text);
  if (isText && Buffer.byteLength(text) <= longestBytes) return;
  const remedy = `use 1 to ${longestBytes} bytes of UTF-8 text without NUL`;
  throw new OptionError(option, text, `is not ${option === 'id' ? 'an id' : 'a key'}`, remedy);
}

/** How many effects one call of `forgetEffects` deletes at most. */
export const forgottenAtOnce = 10_000;

const centuryMs = 100 * 365 * 24 * 60 * 60 * 1000;

/** @throws {OptionError} unless it is whole milliseconds up to a century. */
export function validateAge(olderThanMs: number): void {
  if (Number.isSafeInteger(olderThanMs) && olderThanMs >= 0 && olderThanMs <= centuryMs) return;
  const remedy = `use whole milliseconds from 0 to ${centuryMs}`;
  throw new OptionError('olderThanMs', olderThanMs, 'is no such age', remedy);
}

/**
 * What a second record of one number means.
 *
 * @returns `false`: the effect is there.
 * @throws {SequenceReusedError} if it is another message's.
 */
export function judgeRepetition(
  resource: string,
  effect: Effect,
  recordedId: string | null,
): false {
  const { scope, key, seq, id } = effect;
  // A row that is older than the column of ids has none, and can only be believed.
  if (recordedId === null || recordedId === id) {
    notice('tenure:fence.repeated', { resource, scope, key, seq });
    return false;
  }
  throw new SequenceReusedError(scope, key, seq, id, recordedId);
}
