import type { Standing } from '../candidates.js';
import type { ActEntry, HistoryEntry, TermEntry } from '../history.js';
import { Holder } from '../holder.js';
import type { Revocation } from '../record.js';
import type { StoredRevocation } from '../rules/record.js';

/* The texts that stand under our keys: JSON objects with a version. Whatever is none of them is somebody else's. */

/** A key in the queue of a name: of who leads, or of who waits. */
export type QueueValue = LeadingValue | { readonly state: 'waits'; readonly holder: Holder };

export interface LeadingValue {
  readonly state: 'leads';
  readonly holder: Holder;
  readonly attempt: string;
  readonly ttlMs: number;
  readonly grantedAtMs: number;
  readonly renewedAtMs: number;
  readonly graceMs: number;
  /** The term is the revision that created the key, and this. */
  readonly offset: number;
  readonly metadata: string | undefined;
  readonly revocation: StoredRevocation | undefined;
}

/**
 * What follows a holder: during `delayMs` nobody may have the name, then during `reserveMs` the one that the revocation
 * names. It begins when the key of the holder is gone, or if there is a time, then.
 */
export interface AfterValue {
  readonly term: number;
  readonly delayMs: number;
  readonly reserveMs: number;
  readonly to: string | undefined;
  readonly revocation: StoredRevocation | undefined;
  readonly startedAtMs: number | undefined;
}

export interface CandidateValue {
  readonly holder: Holder;
  readonly standing: Standing;
  readonly preference: number;
  readonly ttlMs: number;
  readonly sinceMs: number;
  /** A revision that was known when it began to stand like this. */
  readonly since: number;
  /** Of who waits: its key in the queue that other programs see too. */
  readonly queueKey: string | undefined;
  readonly metadata: string | undefined;
}

export interface HistoryValue {
  /** A term that was written as `null` is the revision in which this was written, and the offset. */
  readonly lines: readonly HistoryEntry[];
  /** The store lease of each term that lasts. */
  readonly leases: Readonly<Record<string, string>>;
}

/** What a namespace has in common. */
export interface SpaceValue {
  readonly offset: number;
  /** The store lease that histories are kept by, and when it was made. */
  readonly historyLease: string | undefined;
  readonly historyLeaseAtMs: number;
}

export const emptySpace: SpaceValue = { offset: 0, historyLease: undefined, historyLeaseAtMs: 0 };

const version = 1;

export function write(value: object): string {
  const plain = (_key: string, part: unknown) => (part instanceof Holder ? part.wire : part);
  // A holder's own `toJSON` would leave out what only the store may know.
  const entries = Object.entries(value).map(([key, part]) => [key, plain(key, part)]);
  return JSON.stringify({ tenure: version, ...Object.fromEntries(entries) });
}

type Fields = Record<string, unknown>;

function parse(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isOurs = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isOurs && (value as Fields).tenure === version ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

export function queueValue(text: string): QueueValue | undefined {
  const fields = parse(text);
  const holder = Holder.parse(String(fields?.holder ?? ''));
  if (fields === undefined || holder === undefined) return undefined;
  if (fields.state === 'waits') return { state: 'waits', holder };
  const hasAll = hasNumbers(fields, 'ttlMs', 'grantedAtMs', 'renewedAtMs', 'graceMs', 'offset');
  if (fields.state !== 'leads' || typeof fields.attempt !== 'string' || !hasAll) return undefined;
  return {
    state: 'leads',
    holder,
    attempt: fields.attempt,
    ttlMs: number(fields.ttlMs),
    grantedAtMs: number(fields.grantedAtMs),
    renewedAtMs: number(fields.renewedAtMs),
    graceMs: number(fields.graceMs),
    offset: number(fields.offset),
    metadata: optionalText(fields.metadata),
    revocation: revocation(fields.revocation),
  };
}

/** A term that was written as `null` is the revision in which the text was, and the offset. */
export function afterValue(text: string, revision: number): AfterValue | undefined {
  const fields = parse(text);
  if (fields === undefined || typeof fields.delayMs !== 'number') return undefined;
  return {
    term: typeof fields.term === 'number' ? fields.term : revision + number(fields.offset),
    delayMs: number(fields.delayMs),
    reserveMs: number(fields.reserveMs),
    to: optionalText(fields.to),
    revocation: revocation(fields.revocation),
    startedAtMs: typeof fields.startedAtMs === 'number' ? fields.startedAtMs : undefined,
  };
}

export function candidateValue(text: string): CandidateValue | undefined {
  const fields = parse(text);
  const holder = Holder.parse(String(fields?.holder ?? ''));
  if (fields === undefined || holder === undefined) return undefined;
  if (!hasNumbers(fields, 'preference', 'ttlMs', 'sinceMs', 'since')) return undefined;
  return {
    holder,
    standing: fields.standing as Standing,
    preference: number(fields.preference),
    ttlMs: number(fields.ttlMs),
    sinceMs: number(fields.sinceMs),
    since: number(fields.since),
    queueKey: optionalText(fields.queueKey),
    metadata: optionalText(fields.metadata),
  };
}

/** Who waits, of a key that says so. */
export function waiterValue(text: string): Holder | undefined {
  return Holder.parse(String(parse(text)?.holder ?? ''));
}

export function suspensionValue(text: string): Revocation | undefined {
  const fields = parse(text);
  if (fields === undefined) return undefined;
  const { by, reason, atMs } = fields;
  return { by: String(by), reason: String(reason), atMs: number(atMs) };
}

export function historyValue(text: string, revision: number): HistoryValue {
  const fields = parse(text);
  if (fields === undefined || !Array.isArray(fields.lines)) return { lines: [], leases: {} };
  const leases: Record<string, string> = {};
  const lines = fields.lines.map((line: Fields): HistoryEntry => {
    if (line.kind === 'act') return line as unknown as ActEntry;
    const { lease, offset = 0, ...entry } = line;
    const term = entry.term === null ? revision + Number(offset) : Number(entry.term);
    if (typeof lease === 'string') leases[term] = lease;
    const ended = { endedAtMs: undefined, endReason: undefined };
    return { ...ended, ...entry, term } as unknown as TermEntry;
  });
  return { lines, leases };
}

export function spaceValue(text: string | undefined): SpaceValue {
  const fields = text === undefined ? undefined : parse(text);
  if (fields === undefined) return emptySpace;
  return {
    offset: number(fields.offset),
    historyLease: optionalText(fields.historyLease),
    historyLeaseAtMs: number(fields.historyLeaseAtMs),
  };
}

export function sessionAtMs(text: string | undefined): number {
  return number(text === undefined ? undefined : parse(text)?.atMs);
}

export function documentValue(
  text: string | undefined,
): { version: number; text: string } | undefined {
  const fields = text === undefined ? undefined : parse(text);
  if (fields === undefined || typeof fields.text !== 'string') return undefined;
  return { version: number(fields.version), text: fields.text };
}

function revocation(value: unknown): StoredRevocation | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { by, reason, atMs, reserveMs, to } = value as Fields;
  const successor = typeof to === 'string' ? { to } : {};
  const act = { by: String(by), reason: String(reason), atMs: number(atMs) };
  return { ...act, reserveMs: number(reserveMs), ...successor };
}

/** A text that lacks what it must have was damaged: it is no better than somebody else's. */
function hasNumbers(fields: Fields, ...names: readonly string[]): boolean {
  return names.every((name) => Number.isFinite(fields[name]));
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
