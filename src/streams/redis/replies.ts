import { RecordCorruptError } from '../../errors/index.js';
import type {
  CorruptLog,
  InstallResult,
  OpenResult,
  PublishResult,
  SealResult,
  ShardBacklog,
  StaleToken,
  StepResult,
  StoredMessage,
  TopicResult,
} from '../contract.js';
import type { ShardKeys } from './keys.js';

/*
 * The answers of the scripts as results. A text that is none of ours never passes for a message or a number.
 */

/** What to say about something that is not ours. */
function foreignAt(key: string): string {
  return `what stands under "${key}" was not written by tenure, or by a newer one. It is left as it is; move or remove it there.`;
}

function corrupt(key: string): CorruptLog {
  return { outcome: 'corrupt', detail: foreignAt(key) };
}

export function parsePublish(answer: string, names: ShardKeys, idKey: () => string): PublishResult {
  const count = Number(answer.slice(1));
  switch (answer[0]) {
    case 'a':
      return { outcome: 'appended', seq: count };
    case 'd':
      // The id was accepted as something that is no number.
      return isCount(answer.slice(1)) ? { outcome: 'duplicate', seq: count } : corrupt(idKey());
    case 'g':
      return { outcome: 'gap', lastSeq: count };
    case 'm':
      return { outcome: 'moved' };
    default:
      return corrupt(answer === 'xl' ? names.log : answer === 'xk' ? names.keys : idKey());
  }
}

export function parseInstall(answer: string, { owner }: ShardKeys): InstallResult {
  if (answer === '=') return { outcome: 'installed' };
  return answer.startsWith('!') ? parseStale(answer) : corrupt(owner);
}

export function parseStep(answer: string, { log, owner }: ShardKeys): StepResult {
  // An empty log's answer is by far the most frequent one.
  if (answer === '=0') return { outcome: 'ok', messages: [], acknowledgedCount: 0 };
  if (answer.startsWith('!')) return parseStale(answer);
  if (!answer.startsWith('=')) return corrupt(answer === 'xo' ? owner : log);
  const parts = answer.split('\0');
  const messages: StoredMessage[] = [];
  for (let at = 1; at < parts.length; at += partsPerMessage) {
    const message = parseMessage(parts, at);
    // What follows may be ours, but is behind it.
    if (message === undefined) return messages.length === 0 ? corrupt(log) : ok(messages, parts);
    messages.push(message);
  }
  return ok(messages, parts);
}

function ok(messages: readonly StoredMessage[], [head]: readonly string[]): StepResult {
  return { outcome: 'ok', messages, acknowledgedCount: Number(head?.slice(1)) };
}

/** Nothing, position, seq, key, id, payload. No part of ours is empty, so the first one cannot be one of a message. */
const partsPerMessage = 6;

function parseMessage(parts: readonly string[], at: number): StoredMessage | undefined {
  const [gap, position, seq, key, id, payload] = parts.slice(at, at + partsPerMessage);
  const isMessage = gap === '' && position && seq && key && id && payload;
  const next = parts[at + partsPerMessage];
  // A message that ends with a NUL looks like the beginning of a next one, which then has no position.
  const isWhole = next === undefined || (next === '' && parts[at + partsPerMessage + 1]);
  if (!isMessage || !isWhole || !isCount(seq)) return undefined;
  return {
    position,
    key,
    seq: Number(seq),
    id,
    payload,
    appendedAtMs: Number.parseInt(position, 10),
  };
}

/** What messages and shards are counted with: a whole number from 1 that is exact. */
function isCount(text: string): boolean {
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) && Number(text) >= 1;
}

function parseStale(answer: string): StaleToken {
  return {
    outcome: 'stale',
    installedTerm: answer === '!' ? undefined : Number(answer.slice(1)),
  };
}

/** @throws {RecordCorruptError} naming the key under which something stands that is not ours. */
export function parseBacklog(answer: string, shard: number, { log }: ShardKeys): ShardBacklog {
  const [count, ageMs] = expectOurs(answer, log).split(' ');
  return {
    shard,
    count: Number(count),
    oldestAgeMs: ageMs === undefined ? undefined : Number(ageMs),
  };
}

/** @throws {RecordCorruptError} as {@link parseBacklog}. */
export function parseSeal(answer: string, { log, keys }: ShardKeys): SealResult {
  if (answer === 's') return { outcome: 'superseded' };
  const [lastSeq, drained] = expectOurs(answer, `${log}" or "${keys}`).split(' ');
  return { outcome: 'sealed', lastSeq: Number(lastSeq), drained: drained === '1' };
}

/** @throws {RecordCorruptError} as {@link parseBacklog}. */
export function parseOpen(answer: string, { keys }: ShardKeys): OpenResult {
  return { outcome: expectOurs(answer, keys) === 's' ? 'superseded' : 'opened' };
}

/** @throws {RecordCorruptError} as {@link parseBacklog}. */
export function parseTopic(answer: string, shardCount: number, key: string): TopicResult {
  const text = expectOurs(answer, key);
  if (!isCount(text)) throw new RecordCorruptError(foreignAt(key));
  const kept = Number(text);
  return kept === shardCount ? { outcome: 'agreed' } : { outcome: 'differs', shardCount: kept };
}

function expectOurs(answer: string, key: string): string {
  if (answer.startsWith('x')) throw new RecordCorruptError(foreignAt(key));
  return answer;
}
