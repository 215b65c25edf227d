import { createHash } from 'node:crypto';
import { RecordCorruptError } from '../../errors/index.js';
import { type Evidence, evidenceCount, evidenceLifeMs, mostAheadMs } from './evidence.js';
import { parseEvidence } from './parse.js';

/*
 * The stored form: {"format":1,"entries":[...]}, each entry as `Evidence` has it, oldest first. Names are spread over a
 * fixed number of documents, since a document has no end of its own: one for each name would fill a store with names that
 * nobody uses any more.
 */

const format = 1;
/** How many documents there are. */
export const evidenceDocuments = 64;
/** The largest of them, in UTF-8 bytes; what is oldest goes first. So all evidence of a namespace fits in 8 MiB. */
const largestBytes = 128 * 1024;

/** In which document the evidence of a name stands: `evidence/0` to `evidence/63`. */
export function evidenceDocumentOf(name: string): string {
  const [first = 0] = createHash('sha1').update(name).digest();
  return `evidence/${first % evidenceDocuments}`;
}

/** @throws {RecordCorruptError} if the text is no evidence. An entry that is none is passed over. */
export function parseEvidenceDocument(document: string, text: string): Evidence[] {
  const entries = entriesOf(text);
  if (entries !== undefined) return entries.flatMap((entry) => parseEvidence(entry) ?? []);
  throw new RecordCorruptError(
    `the document "${document}" is no evidence of elections. It was left alone; repair or remove it.`,
  );
}

function entriesOf(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const { format: found, entries } = value as Record<string, unknown>;
    return found === format && Array.isArray(entries) ? entries : undefined;
  } catch {
    return undefined;
  }
}

/**
 * What stands there with what is new, within all bounds. One entry that was written before is not written twice. One of a
 * clock that is ahead counts as of now: it would outlive all others, and push them out.
 */
export function mergeEvidence(
  present: readonly Evidence[],
  added: readonly Evidence[],
  nowMs: number,
): Evidence[] {
  const known = new Set(present.map(identityOf));
  const all = [...present, ...added.filter((entry) => !known.has(identityOf(entry)))]
    .filter(({ atMs }) => nowMs - atMs <= evidenceLifeMs)
    .map((entry) => (entry.atMs > nowMs + mostAheadMs ? { ...entry, atMs: nowMs } : entry))
    .sort((a, b) => a.atMs - b.atMs);
  const counts = new Map<string, number>();
  const kept = all.reverse().filter(({ name }) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count <= evidenceCount;
  });
  return kept.reverse();
}

export function formatEvidence(entries: readonly Evidence[]): string {
  const texts = entries.map((entry) => JSON.stringify(entry));
  let bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  while (bytes > largestBytes) bytes -= Buffer.byteLength(texts.shift() ?? '') + 1;
  return `{"format":${format},"entries":[${texts.join(',')}]}`;
}

function identityOf(entry: Evidence): string {
  const what = entry.kind === 'loss' ? 'loss' : entry.what;
  return JSON.stringify([entry.name, entry.holderId, entry.term ?? 0, what, entry.atMs]);
}
