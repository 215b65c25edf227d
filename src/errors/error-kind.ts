import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  TenureError,
  tooLateCode,
  UnreachableError,
} from './index.js';
import { carriedKind, type ErrorKind } from './kinds.js';

/** Words of servers: Redis's error codes, PostgreSQL's SQLSTATE, the codes of our drivers. */
const storeCodes: Readonly<Record<string, ErrorKind>> = {
  [tooLateCode]: 'timeout',
  NOT_REPLICATED: 'timeout',
  ASK: 'timeout',
  '25P03': 'timeout',
  '25P04': 'timeout',
  '55P03': 'timeout',
  '57014': 'timeout',
  ER_LOCK_WAIT_TIMEOUT: 'timeout',
  LOADING: 'loading',
  '57P03': 'loading',
  READONLY: 'replica',
  MASTERDOWN: 'replica',
  CLUSTERDOWN: 'replica',
  MOVED: 'replica',
  NOREPLICAS: 'replica',
  '25006': 'replica',
  BUSY: 'overloaded',
  OOM: 'overloaded',
  TRYAGAIN: 'overloaded',
  SQLITE_BUSY: 'overloaded',
  '53300': 'overloaded',
  '53200': 'overloaded',
  '53100': 'overloaded',
  '57P01': 'reset',
  '57P02': 'reset',
};

/** By the words of Node, of client libraries and of servers, in this order; what says most of a store comes first. */
const foreignWords: readonly (readonly [ErrorKind, RegExp])[] = [
  ['loading', /LOADING|57P03|starting up/],
  ['replica', /READONLY|MASTERDOWN|CLUSTERDOWN|no leader|leader changed|25006/i],
  ['refused', /ECONNREFUSED/],
  ['unreachable', /ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EACCES|EADDRNOTAVAIL/],
  [
    'reset',
    /ECONNRESET|EPIPE|socket hang up|connection (?:was |is )?(?:closed|lost|broke|ended)|terminated/i,
  ],
  ['timeout', /ETIMEDOUT|time-?out|timed out/i],
];

export function errorKindOf(error: unknown): ErrorKind {
  const told = kindTold(error);
  if (told !== undefined) return told;
  if (error instanceof StoreMisconfiguredError) return 'denied';
  if (error instanceof UnreachableError) return 'unreachable';
  return error instanceof OutcomeUnknownError ? 'timeout' : 'other';
}

/**
 * What an error, or what caused it, tells of its kind; `undefined` if that is no more than its class does. Of an error of
 * ours that is what it carries, or its code; its message is for people, and can hold names of theirs.
 */
export function kindTold(error: unknown, depth = 0): ErrorKind | undefined {
  if (!(error instanceof Error) || depth > 3) return undefined;
  const carried = carriedKind(error);
  if (carried !== undefined) return carried;
  if (error instanceof StoreMisconfiguredError) return undefined;
  if (error instanceof StoreRefusedError) return kindOfCode(error.storeCode);
  // What lies deepest is what happened; what was said of it above may be a guess.
  const deeper = kindTold(error.cause, depth + 1);
  if (deeper !== undefined || error instanceof TenureError) return deeper;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return kindByWords(`${code} ${error.message}`);
}

/** The kind of a refusal with this `storeCode`. */
export function kindOfCode(storeCode: string): ErrorKind | undefined {
  return Object.hasOwn(storeCodes, storeCode) ? storeCodes[storeCode] : undefined;
}

function kindByWords(text: string): ErrorKind | undefined {
  return foreignWords.find(([, pattern]) => pattern.test(text))?.[0];
}

/** The one of several kinds that says most of a store. */
export function tellingKind(kinds: readonly (ErrorKind | undefined)[]): ErrorKind | undefined {
  return foreignWords.find(([kind]) => kinds.includes(kind))?.[0];
}

/** The kind of a request that each of these servers failed: those that are left have nobody who decides, now that one is gone. */
export function kindOfServers(kinds: readonly (ErrorKind | undefined)[]): ErrorKind | undefined {
  const isSilent = kinds.includes('timeout') || kinds.includes('reset');
  return kinds.includes('refused') && isSilent ? 'replica' : tellingKind(kinds);
}
