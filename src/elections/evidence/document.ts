import { createHash } from 'node:crypto';
import { RecordCorruptError } from '../../errors/index.js';
import {
  type Evidence,
  evidenceCount,
  evidenceLifeMs,
  mostAheadMs,
  type NoteEvidence,
} from './evidence.js';
import { parseEvidence } from './parse.js';

/*
 * The stored form: {"format":1,"entries":[...]}, each entry as `Evidence` has it, oldest first. Names are spread over a
 * fixed number of documents, since a document has no end of its own: one for each name would fill a store with names that
 * nobody uses any more.
 */

const format = 1;
/** How many documents there are. */
export const evidenceDocuments = 64;
/** The largest of them, in UTF-8 bytes. So all evidence of a namespace fits in 8 MiB. */
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
 * clock that is ahead counts as of now: it would outlive all others. The writer's own clock may be the wrong one: what is
 * too old, most writers have to agree on, and whoever wrote most loses its oldest first.
 */
export function mergeEvidence(
  present: readonly Evidence[],
  added: readonly Evidence[],
  nowMs: number,
): Evidence[] {
  const known = new Map(present.map((entry) => [identityOf(entry), entry]));
  for (const entry of added) {
    const identity = identityOf(entry);
    known.set(identity, newerOf(known.get(identity), entry));
  }
  const together = [...known.values()];
  const agreedMs = Math.min(nowMs, agreedTime(together));
  const all = together
    .filter(({ atMs }) => agreedMs - atMs <= evidenceLifeMs)
    .map((entry) => (entry.atMs > nowMs + mostAheadMs ? { ...entry, atMs: nowMs } : entry))
    .sort((a, b) => a.atMs - b.atMs);
  const names = new Map<string, Evidence[]>();
  for (const entry of all) {
    const entries = names.get(entry.name);
    if (entries === undefined) names.set(entry.name, [entry]);
    else entries.push(entry);
  }
  for (const entries of names.values())
    while (entries.length > evidenceCount) entries.splice(mostDispensable(entries), 1);
  const kept = new Set([...names.values()].flat());
  return all.filter((entry) => kept.has(entry));
}

/** Up to when at least half of the writers have written. */
function agreedTime(entries: readonly Evidence[]): number {
  const latest = new Map<string, number>();
  for (const { holderId, atMs } of entries)
    latest.set(holderId, Math.max(atMs, latest.get(holderId) ?? 0));
  const times = [...latest.values()].sort((a, b) => a - b);
  return times[(times.length - 1) >> 1] ?? 0;
}

/** Of whoever has most, the oldest note that a later one says again, or else the oldest; by its index. */
export function mostDispensable(entries: readonly Evidence[]): number {
  const counts = new Map<string, number>();
  const latest = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    counts.set(entry.holderId, (counts.get(entry.holderId) ?? 0) + 1);
    if (isRepeatable(entry)) latest.set(subjectOf(entry), index);
  }
  const most = Math.max(...counts.values());
  const isTheirs = ({ holderId }: Evidence) => counts.get(holderId) === most;
  const repeated = entries.findIndex(
    (entry, index) =>
      isTheirs(entry) && isRepeatable(entry) && latest.get(subjectOf(entry)) !== index,
  );
  return repeated >= 0 ? repeated : entries.findIndex(isTheirs);
}

/** A note of no term: that a store failed, that an id is there twice. */
function isRepeatable(entry: Evidence): entry is NoteEvidence {
  return entry.kind === 'note' && entry.term === undefined;
}

function subjectOf({ name, holderId, what }: NoteEvidence): string {
  return JSON.stringify([name, holderId, what]);
}

export function formatEvidence(entries: readonly Evidence[]): string {
  const kept = [...entries];
  const texts = kept.map((entry) => JSON.stringify(entry));
  let bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  while (bytes > largestBytes) {
    const index = mostDispensable(kept);
    kept.splice(index, 1);
    const [text = ''] = texts.splice(index, 1);
    bytes -= Buffer.byteLength(text) + 1;
  }
  return `{"format":${format},"entries":[${texts.join(',')}]}`;
}

/** What was seen before stays as it was, but a count goes on. */
function newerOf(present: Evidence | undefined, added: Evidence): Evidence {
  if (present === undefined) return added;
  const isHigher =
    present.kind === 'refusals' && added.kind === 'refusals' && added.count > present.count;
  return isHigher ? added : present;
}

/** Two entries of one identity tell of the same. */
export function identityOf(entry: Evidence): string {
  const { name, holderId, term = 0 } = entry;
  switch (entry.kind) {
    case 'loss':
      return JSON.stringify([name, holderId, term, 'loss', entry.atMs]);
    case 'note':
      return JSON.stringify([name, holderId, term, entry.what, entry.atMs]);
    case 'refusals':
      return JSON.stringify([name, holderId, term, 'refusals', entry.resource]);
  }
}
