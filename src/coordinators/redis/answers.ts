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
import { parseRecord } from './record.js';

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
    const detail = 'the last term of the namespace is no term: remove its key ":term"';
    return requests.map(() => ({ result: { outcome: 'corrupt', detail }, repaired: false }));
  }
  const [now, answers] = reply as [string, AcquireReply[]];
  return answers.map((one, index) => ({
    result: answerOne(requests[index] as AcquireRequest, one, Number(now)),
    repaired: one[0] === 'held' && one[4] === 'repaired',
  }));
}

function answerOne({ name }: AcquireRequest, reply: AcquireReply, nowMs: number): AcquireResult {
  switch (reply[0]) {
    case 'granted':
      return { outcome: 'granted', term: Number(reply[1]) };
    case 'corrupt':
      return { outcome: 'corrupt', detail: `under "${name}" stands ${reply[1]}` };
    case 'held': {
      const [, text, remainingMs, suspension] = reply;
      const current = parseRecord(name, { text, remainingMs, suspension, nowMs });
      return current === undefined || current === 'free'
        ? { outcome: 'corrupt', detail: `under "${name}" stands a text that is no record` }
        : { outcome: 'held', current };
    }
  }
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
export function answerWrite(name: string, reply: unknown): WriteDocumentResult {
  const [outcome, ...rest] = reply as (string | null)[];
  if (outcome === 'corrupt') throw badDocument(name);
  if (outcome === 'written') return { outcome, version: Number(rest[0]) };
  return { outcome: 'conflict', current: answerDocument(rest) };
}

export function badRecord(what: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands under "${what}" is no record of a lease. Somebody else wrote it; remove it there.`,
  );
}

export function badDocument(name: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands in the place of document "${name}" is none. Somebody else wrote it; remove it there.`,
  );
}

export function badCandidates(name: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands in the place of the candidates for "${name}" is no such list. Somebody else wrote it; remove it there.`,
  );
}

export function badHistory(name: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands in the place of the history of "${name}" is none. Somebody else wrote it; remove it there.`,
  );
}

export function badSuspensions(): RecordCorruptError {
  return new RecordCorruptError(
    'what stands in the place of the suspended names (the key ":suspended") is no such table, so nobody is granted anything. Somebody else wrote it; remove it there.',
  );
}

export function badSuspension(name: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands for "${name}" in the table of suspended names (the key ":suspended") is no suspension that this version knows. It was left alone, and the name is granted to nobody: resume it with what wrote it, or remove that field there.`,
  );
}
