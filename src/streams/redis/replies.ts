import { RecordCorruptError } from '../../errors/index.js';
import type {
  InstallResult,
  PublishResult,
  SealResult,
  ShardBacklog,
  StaleToken,
  StepResult,
  StoredMessage,
} from '../contract.js';

/*
 * The answers of the scripts as results. A text that is none of ours never passes for a message or a number.
 */

/** @throws {RecordCorruptError} naming the key under which something stands that is not ours. */
export function corrupt(key: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands under "${key}" was not written by tenure, or by a newer one. It is left as it is; move or remove it there.`,
  );
}

export function parsePublish(answer: string): PublishResult {
  const count = Number(answer.slice(1));
  switch (answer[0]) {
    case 'a':
      return { outcome: 'appended', seq: count };
    case 'd':
      return { outcome: 'duplicate', seq: count };
    case 'g':
      return { outcome: 'gap', lastSeq: count };
    default:
      return { outcome: 'moved' };
  }
}

export function parseInstall(answer: string, ownerKey: string): InstallResult {
  if (answer === '=') return { outcome: 'installed' };
  return parseStale(answer, ownerKey);
}

export function parseStep(answer: string, logKey: string, ownerKey: string): StepResult {
  if (!answer.startsWith('=')) return parseStale(answer, `${logKey}" or "${ownerKey}`);
  // An empty log's answer is by far the most frequent one.
  if (answer === '=0') return { outcome: 'ok', messages: [], acknowledgedCount: 0 };
  const parts = answer.split('\0');
  const messages: StoredMessage[] = [];
  for (let at = 1; at < parts.length; at += partsPerMessage) {
    messages.push(parseMessage(parts, at, logKey));
  }
  return { outcome: 'ok', messages, acknowledgedCount: Number(parts[0]?.slice(1)) };
}

/** Position, seq, key, id, payload. */
const partsPerMessage = 5;

function parseMessage(parts: readonly string[], at: number, logKey: string): StoredMessage {
  const [position, seq, key, id, payload] = parts.slice(at, at + partsPerMessage);
  const appendedAtMs = Number.parseInt(position ?? '', 10);
  const isMessage = Number.isSafeInteger(Number(seq)) && appendedAtMs >= 0;
  if (
    !isMessage ||
    position === undefined ||
    key === undefined ||
    id === undefined ||
    payload === undefined
  )
    throw corrupt(logKey);
  return { position, key, seq: Number(seq), id, payload, appendedAtMs };
}

function parseStale(answer: string, key: string): StaleToken {
  if (!answer.startsWith('!')) throw corrupt(key);
  return {
    outcome: 'stale',
    installedTerm: answer === '!' ? undefined : Number(answer.slice(1)),
  };
}

export function parseBacklog(answer: string, shard: number, logKey: string): ShardBacklog {
  if (answer === 'x') throw corrupt(logKey);
  const [count, ageMs] = answer.split(' ');
  return {
    shard,
    count: Number(count),
    oldestAgeMs: ageMs === undefined ? undefined : Number(ageMs),
  };
}

export function parseSeal(answer: string): SealResult {
  const [lastSeq, drained] = answer.split(' ');
  return { lastSeq: Number(lastSeq), drained: drained === '1' };
}
