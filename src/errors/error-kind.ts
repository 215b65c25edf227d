import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  tooLateCode,
  UnreachableError,
} from './index.js';

/**
 * How a request to the store failed, as far as it tells something of why.
 *
 * - `timeout`: no answer in time. `reset`: the connection broke. `refused`: nothing listens there. `unreachable`: no way
 *   there, or no such host.
 * - `loading`: the store is starting. `replica`: it is not, or not now, the one that decides; of several servers, that one is
 *   gone and others do not answer. `overloaded`: it has too much
 *   to do, or no room. `denied`: it does not let us. `other`: none of these.
 */
export const errorKinds = [
  'timeout',
  'reset',
  'refused',
  'unreachable',
  'loading',
  'replica',
  'overloaded',
  'denied',
  'other',
] as const;
export type ErrorKind = (typeof errorKinds)[number];

/** Words of servers: Redis's error codes, PostgreSQL's SQLSTATE, the codes of our drivers. */
const storeCodes: Readonly<Record<string, ErrorKind>> = {
  [tooLateCode]: 'timeout',
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

/** By the words of an error or of its cause, in this order. */
const words: readonly (readonly [ErrorKind, RegExp])[] = [
  ['loading', /LOADING|57P03|starting up/],
  [
    'replica',
    /READONLY|MASTERDOWN|CLUSTERDOWN|no (?:other )?master|no leader|leader changed|25006/i,
  ],
  ['refused', /ECONNREFUSED|nothing listens/],
  ['unreachable', /ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EACCES|EADDRNOTAVAIL/],
  [
    'reset',
    /ECONNRESET|EPIPE|socket hang up|connection (?:was |is )?(?:closed|lost|broke|ended)|terminated/i,
  ],
  ['timeout', /ETIMEDOUT|within \d+ m?s\b|in time\b|time-?out|timed out|no answer/i],
];

/** In the words of our drivers: a server that was one before, or was asked for one that it is not. */
const noPrimary = /is a replica|is a standby|read-only for us|read_only is on/;

export function errorKindOf(error: unknown): ErrorKind {
  if (error instanceof StoreMisconfiguredError)
    return noPrimary.test(error.message) ? 'replica' : 'denied';
  if (error instanceof StoreRefusedError) {
    return storeCodes[error.storeCode] ?? kindByWords(error.message) ?? 'other';
  }
  const texts: string[] = [];
  for (let one = error, depth = 0; one instanceof Error && depth < 4; one = one.cause, depth++) {
    const code = 'code' in one && typeof one.code === 'string' ? one.code : '';
    texts.push(`${code} ${one.message}`);
  }
  // What lies deepest is what happened; what was said of it above may be a guess.
  for (const text of texts.reverse()) {
    const kind = kindOfSeveral(text) ?? kindByWords(text);
    if (kind !== undefined) return kind;
  }
  if (error instanceof UnreachableError) return 'unreachable';
  return error instanceof OutcomeUnknownError ? 'timeout' : 'other';
}

function kindByWords(text: string): ErrorKind | undefined {
  return words.find(([, pattern]) => pattern.test(text))?.[0];
}

/** Where each server says for itself, parted by semicolons: those that are left have nobody who decides, now that one is gone. */
function kindOfSeveral(text: string): ErrorKind | undefined {
  const kinds = new Map<string, ErrorKind | undefined>();
  for (const part of text.split('; ')) {
    const [address] = /[\w.\-\]]+:\d{1,5}\b/.exec(part) ?? [];
    if (address !== undefined) kinds.set(address, kindByWords(part));
  }
  const found = new Set(kinds.values());
  const isSilent = found.has('timeout') || found.has('reset');
  return found.has('refused') && isSilent ? 'replica' : undefined;
}
