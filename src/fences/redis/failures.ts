import { replyCode, replyError } from '../../drivers/redis/errors.js';
import type { Topology } from '../../drivers/redis/index.js';
import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
} from '../../errors/index.js';
import type { RedisBatch } from './batch.js';

/** Which command of a batch failed, and what the server said. */
export interface Failure {
  /** Of its batch, in messages. */
  readonly title: string;
  readonly batch: RedisBatch | undefined;
  /** The number of the command, from 1; or the name of one that is the fence's own. */
  readonly place: unknown;
  /** The server's. What follows its first word may quote an argument. */
  readonly words: unknown;
}

/** Who said so. */
interface Server {
  readonly address: string;
  readonly topology: Topology;
}

/** A server answers with these whatever is to be written. The driver knows what to do about it. */
const codesOfServer: ReadonlySet<string> = new Set(['OOM', 'NOREPLICAS', 'MISCONF']);

/** Nothing of the batch was executed, since the server takes this command not, or not so. */
export function refused(failure: Failure, { address, topology }: Server): TenureError {
  const { title } = failure;
  const code = codeOf(failure);
  if (codesOfServer.has(code)) {
    const what = commandOf(failure) === undefined ? title : `${spoken(failure)} of ${title}`;
    return replyError(replyOf(failure), what, address, topology);
  }
  const message = `${title} was refused: ${said(failure)}; nothing was executed.`;
  const remedy = remedyOf(failure);
  if (remedy !== undefined) return new StoreMisconfiguredError(`${message} ${remedy}`);
  return new StoreRefusedError(code, message);
}

/** What came before the command that failed stays. */
export function executedInPart(failure: Failure): OutcomeUnknownError {
  const message = `${failure.title} was executed in part: ${said(failure)}, and those before it stay, since Redis takes nothing back. Look at what is there.`;
  return new OutcomeUnknownError(`${message} ${remedyOf(failure) ?? ''}`.trimEnd());
}

/** Which command failed, and with what, as far as that quotes none of its arguments. */
function said(failure: Failure): string {
  const kind = denialOf(failure)?.kind ?? kindOf(failure.words);
  return `${spoken(failure)} failed with ${codeOf(failure)}${kind === undefined ? '' : ` (${kind})`}`;
}

function spoken(failure: Failure): string {
  const name = nameOf(failure);
  const isOwn = commandOf(failure) === undefined;
  return isOwn ? `the fence's own ${name}` : `command ${failure.place} (${name})`;
}

function nameOf(failure: Failure): string {
  const ofFence = typeof failure.place === 'string' ? failure.place : ownName;
  return commandOf(failure) ?? ofFence;
}

function commandOf({ batch, place }: Failure): string | undefined {
  return batch?.entries[Number(place) - 1]?.name;
}

/** Terms and effects are written with it, after the commands of the batch. */
const ownName = 'SET';

/** As the driver knows the answer of a server. */
function replyOf({ words }: Failure): Error {
  const reply = new Error(String(words));
  reply.name = 'ReplyError';
  return reply;
}

/** The server's own word; what follows it may quote an argument. */
function codeOf(failure: Failure): string {
  return replyCode(replyOf(failure)) ?? 'ERR';
}

/** What a user lacks for a command, and what gives it. */
interface Denial {
  readonly kind: string;
  readonly rule: string;
}

/** Which of the rights is missing, the server says in these words; the second are those of 7.0. */
const deniedChannel = /No permissions to access a channel|can't publish to the channel/i;
const deniedKey = /No permissions to access a key|can't access at least one of the keys/i;

function denialOf(failure: Failure): Denial | undefined {
  if (codeOf(failure) !== 'NOPERM') return undefined;
  const words = String(failure.words);
  const name = nameOf(failure);
  if (deniedChannel.test(words))
    return { kind: "the fence's user has no right to the channel", rule: '&CHANNEL' };
  const right = `+${name.toLowerCase()}`;
  if (!deniedKey.test(words))
    return { kind: `the fence's user has no right to ${name}`, rule: right };
  return { kind: `the fence's user has no right to ${name} for a key`, rule: `'(${right} ~KEY)'` };
}

/** What to do about a missing right; `undefined`: it is none. */
function remedyOf(failure: Failure): string | undefined {
  const denial = denialOf(failure);
  return denial && `Give that user the right: \`ACL SETUSER <user> ${denial.rule}\`.`;
}

/** What the server says of a command in words of its own alone; around them it may quote an argument. */
const kinds: readonly (readonly [words: RegExp, kind: string])[] = [
  [/^ERR wrong number of arg/i, 'it has too few or too many arguments'],
  [/^ERR unknown (?:redis )?(?:sub)?command/i, 'the server has no such command'],
  [/^ERR syntax error/i, 'syntax error'],
  [/^ERR (?:hash )?value is not an integer/i, 'a value is no integer, or out of range'],
  [
    /^ERR (?:hash )?value is not a valid float|^ERR hash value is not a float/i,
    'a value is no number',
  ],
  [/^ERR (?:min or max|weight value|score) is not a/i, 'a bound or weight is no number'],
  [/^ERR increment (?:or decrement )?would/i, 'the number would become too large'],
  [/^ERR invalid expire time/i, 'invalid expire time'],
  [/^ERR no such key/i, 'no such key'],
  [/^ERR index out of range/i, 'index out of range'],
  [/^ERR offset is out of range/i, 'offset is out of range'],
  [/^ERR string exceeds maximum/i, 'the string would become too long'],
  [/^ERR Invalid stream ID/i, 'invalid stream id'],
  [
    /^ERR The ID specified in XADD is equal or smaller/i,
    'the id is not above the last one of the stream',
  ],
  [
    /options? at the same time (?:is|are) not compatible$/i,
    'two of its options exclude each other',
  ],
];

function kindOf(words: unknown): string | undefined {
  return kinds.find(([pattern]) => pattern.test(String(words)))?.[1];
}

/** Fewer replicas have it than were wanted. */
export function notConfirmed(title: string, missing: string): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `${title} was executed, but a failover may forget it: ${missing}. Look at what is there before you try again.`,
  );
}
