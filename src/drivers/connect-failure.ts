import { kindTold } from '../errors/error-kind.js';
import type { UnreachableError } from '../errors/index.js';
import type { ErrorKind } from '../errors/kinds.js';
import { unreachable } from '../errors/unanswered.js';

/** What was to be spoken at an address, for the words of a failure. */
export interface Spoken {
  /** `Redis`, `etcd`. */
  readonly protocol: string;
  readonly isTls: boolean;
  /** What to write for the other of the two, as in "rediss for redis in the URL". Absent: there is no other. */
  readonly otherwise?: string | undefined;
  /** One port speaks both, so it is no reason for a failure. */
  readonly sharesPort?: boolean;
  /** How a certificate comes to be trusted. Default: by an environment variable of Node. */
  readonly trust?: string | undefined;
}

const usualTrust =
  'set NODE_EXTRA_CA_CERTS to the file of the authority that signed it, or have it signed by one that Node trusts';

/** Node's codes for what needs no protocol to be explained. */
const plain: Readonly<Record<string, readonly [cause: string, remedy: string]>> = {
  ECONNREFUSED: ['nothing listens there', 'Start the server, or correct host and port'],
  ENOTFOUND: ['there is no host of that name', 'Correct the host'],
  EAI_AGAIN: ['its name could not be resolved now', 'Look at the host name and at DNS'],
  EHOSTUNREACH: ['there is no way to that host', 'Correct the host, or look at the network'],
  ENETUNREACH: ['there is no way to that network', 'Correct the host, or look at the network'],
  EACCES: ['this process may not connect there', 'Look at the firewall of this machine'],
  EADDRNOTAVAIL: ['this machine has no address or port left to connect from', 'Close connections'],
};

const untrusted = /SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|^CERT_|UNKNOWN_CA/;
const noTls = /EPROTO|wrong version number|WRONG_VERSION|packet length too long|ERR_SSL/i;
const closed =
  /ECONNRESET|EPIPE|socket hang up|HPE_|(?:closed|terminated|disconnected)|unexpected(?:ly)?/i;
const silent = /ETIMEDOUT|no answer within|timeout/i;
const garbage =
  /RESP type|as reply type byte|Protocol error|none of ZooKeeper's|sent what is no|establishing an SSL connection/i;

/**
 * Why a connection could not be made, and what to do about it, as one phrase without a full stop: Node's code or words in
 * brackets. Nothing of what the other side said is repeated, except where it is the cause.
 *
 * @param why an error of a socket or of a client library, or words about one.
 */
export function connectFailure(why: unknown, spoken: Spoken): string {
  const code = codeOf(why);
  const words = wordsOf(why);
  const known = plain[code];
  if (known !== undefined) return `${known[0]} (${code}). ${known[1]}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is for another host (${code}). Use the name that the certificate is for`;
  if (code === 'CERT_HAS_EXPIRED') return `its certificate has expired (${code}). Renew it`;
  if (untrusted.test(code) || /self[- ]signed certificate/i.test(words))
    return `its certificate is not trusted (${code || words}). To trust it, ${spoken.trust ?? usualTrust}`;
  if (noTls.test(`${code} ${words}`))
    return `what answers there does not speak TLS${other(spoken)}`;
  if (garbage.test(words))
    return `what answers there is no ${spoken.protocol}. Correct host, port and scheme`;
  if (silent.test(`${code} ${words}`)) return `${silence(words)}${suspicion(spoken)}`;
  if (closed.test(`${code} ${words}`))
    return `the connection was closed before ${spoken.protocol} was spoken${code ? ` (${code})` : ''}${suspicion(spoken)}`;
  return `${words || 'no reason was given'}. Check that the server runs and the address is right`;
}

/** Of which kind it is that a connection could not be made, by what {@link connectFailure} goes by. */
export function connectFailureKind(why: unknown): ErrorKind {
  const told = kindTold(firstOf(why));
  if (told !== undefined) return told;
  const said = `${codeOf(why)} ${wordsOf(why)}`;
  // Something else answers there.
  if (noTls.test(said) || garbage.test(said)) return 'unreachable';
  if (silent.test(said)) return 'timeout';
  return closed.test(said) ? 'reset' : 'unreachable';
}

function silence(words: string): string {
  const [ms] = /\d+ ms/.exec(words) ?? [];
  return ms === undefined ? 'there was no answer in time' : `there was no answer within ${ms}`;
}

/** Of what can only be guessed: a port of something else closes the connection, or waits. */
function suspicion({ protocol, isTls, otherwise, sharesPort }: Spoken): string {
  const guess = `. The server hangs or is not ready, or what listens there is no ${protocol}`;
  if (sharesPort === true) return guess;
  if (otherwise === undefined) return `${guess}, or speaks TLS, which is not spoken here`;
  return `${guess}, or speaks ${isTls ? 'no ' : ''}TLS: then use ${otherwise}`;
}

function other({ otherwise }: Spoken): string {
  return otherwise === undefined ? '' : `. Use ${otherwise}, or a port with TLS`;
}

/** To follow {@link connectFailure}, for a pool: waiting in vain may be waiting for somebody who has its connections. */
export function busyPool(why: unknown): string {
  if (!/no answer within|timeout/i.test(wordsOf(why))) return '';
  return '; or every connection of the pool is in use: make it larger, or give its connections back sooner';
}

/** As `pg` and `mysql2` say that their pool is over: nothing is connected, and never will be. */
const endedPool = /^(?:Cannot use a pool after calling end on the pool|Pool is closed)/;

/**
 * A pool of the user's that was ended before what asks it. It is told as {@link UnreachableError}, since nothing of tenure is
 * closed; `undefined` for every other failure.
 */
export function poolEnded(why: unknown, what: string): UnreachableError | undefined {
  if (!endedPool.test(wordsOf(why))) return undefined;
  const message = `${what} failed: the pool that was passed has been ended, so nothing was sent. End it after everything that uses it is closed; to go on, pass a new one.`;
  return unreachable('unreachable', message, why);
}

/** A host with several addresses fails with the errors of all of them, and no words of its own. */
function firstOf(why: unknown): unknown {
  if (!(why instanceof AggregateError)) return why;
  const [first = why] = why.errors as unknown[];
  return first;
}

function codeOf(why: unknown): string {
  const first = firstOf(why);
  if (!(first instanceof Error)) return '';
  return 'code' in first && typeof first.code === 'string' ? first.code : '';
}

function wordsOf(why: unknown): string {
  const first = firstOf(why);
  const words = first instanceof Error ? first.message : String(first ?? '');
  return words.trim().replace(/[\s.]+$/, '');
}
