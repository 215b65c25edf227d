import { isStanding, type Standing } from '../candidates.js';
import { type ActEntry, type HistoryEntry, isActWord, type TermEntry } from '../history.js';
import { Holder } from '../holder.js';
import type { Revocation } from '../record.js';
import type { StoredRevocation } from '../rules/record.js';
import { isTerm } from '../term.js';

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

const attemptPattern = /^[0-9a-f]{32}$/;

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
  const holder = holderIn(fields);
  if (fields === undefined || holder === undefined) return undefined;
  if (fields.state === 'waits') return { state: 'waits', holder };
  const hasAll = hasNumbers(fields, 'ttlMs', 'grantedAtMs', 'renewedAtMs', 'graceMs', 'offset');
  const attempt = optionalText(fields.attempt) ?? '';
  if (fields.state !== 'leads' || !attemptPattern.test(attempt) || !hasAll) return undefined;
  if (!Number.isSafeInteger(fields.offset) || isDamagedRevocation(fields)) return undefined;
  return {
    state: 'leads',
    holder,
    attempt,
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
  if (fields === undefined || !hasNumbers(fields, 'delayMs')) return undefined;
  const term = typeof fields.term === 'number' ? fields.term : revision + number(fields.offset);
  const hasTimes = areNumbersOrAbsent(fields.reserveMs, fields.startedAtMs);
  if (!isTerm(term) || !hasTimes || isDamagedRevocation(fields)) return undefined;
  return {
    term,
    delayMs: number(fields.delayMs),
    reserveMs: number(fields.reserveMs),
    to: optionalText(fields.to),
    revocation: revocation(fields.revocation),
    startedAtMs: typeof fields.startedAtMs === 'number' ? fields.startedAtMs : undefined,
  };
}

export function candidateValue(text: string): CandidateValue | undefined {
  const fields = parse(text);
  const holder = holderIn(fields);
  if (fields === undefined || holder === undefined) return undefined;
  if (!hasNumbers(fields, 'preference', 'ttlMs', 'sinceMs', 'since')) return undefined;
  const { standing, queueKey } = fields;
  if (!isStanding(standing)) return undefined;
  // That of another holder is not looked at, and never written.
  const isOwnKey = typeof queueKey === 'string' && queueKey.endsWith(`-${holder.digest}`);
  return {
    holder,
    standing,
    preference: number(fields.preference),
    ttlMs: number(fields.ttlMs),
    sinceMs: number(fields.sinceMs),
    since: number(fields.since),
    queueKey: isOwnKey ? queueKey : undefined,
    metadata: optionalText(fields.metadata),
  };
}

/** Who waits, of a key that says so. */
export function waiterValue(text: string): Holder | undefined {
  return holderIn(parse(text));
}

/** `undefined` if it is none of ours: the name is then suspended by something that nobody here understands. */
export function suspensionValue(text: string): Revocation | undefined {
  const fields = parse(text);
  if (fields === undefined || !isAct(fields)) return undefined;
  const { by, reason, atMs } = fields;
  return { by, reason, atMs };
}

export function historyValue(text: string, revision: number): HistoryValue {
  const fields = parse(text);
  if (fields === undefined || !Array.isArray(fields.lines)) return { lines: [], leases: {} };
  const leases: Record<string, string> = {};
  const lines = fields.lines.flatMap((line: Fields | null): HistoryEntry[] => {
    if (typeof line !== 'object' || line === null) return [];
    if (line.kind === 'act') return actLine(line);
    const entry = termLine(line, revision);
    if (entry === undefined) return [];
    if (isLeaseId(line.lease)) leases[entry.term] = line.lease;
    return [entry];
  });
  return { lines, leases };
}

function actLine(line: Fields): ActEntry[] {
  const { act, to } = line;
  if (!isAct(line) || !isActWord(act)) return [];
  const { by, reason, atMs } = line;
  return [{ kind: 'act', act, by, reason, atMs, ...(typeof to === 'string' ? { to } : {}) }];
}

function termLine(line: Fields, revision: number): TermEntry | undefined {
  const { holderId, grantedAtMs, endedAtMs, endReason } = line;
  const term = line.term === null ? revision + number(line.offset) : line.term;
  if (!isTerm(term) || typeof holderId !== 'string' || !isNumber(grantedAtMs)) return undefined;
  const hasEnded = isNumber(endedAtMs) && typeof endReason === 'string';
  const ended = hasEnded
    ? { endedAtMs, endReason }
    : { endedAtMs: undefined, endReason: undefined };
  return { kind: 'term', term, holderId, grantedAtMs, ...ended };
}

/** `undefined` if it is none of ours: nobody knows the offset then, and a term without it may have been granted before. */
export function spaceValue(text: string | undefined): SpaceValue | undefined {
  if (text === undefined) return emptySpace;
  const fields = parse(text);
  const offset = fields?.offset;
  if (fields === undefined || !Number.isSafeInteger(offset)) return undefined;
  return {
    offset: number(fields.offset),
    historyLease: isLeaseId(fields.historyLease) ? fields.historyLease : undefined,
    historyLeaseAtMs: number(fields.historyLeaseAtMs),
  };
}

export function sessionAtMs(text: string | undefined): number {
  return number(text === undefined ? undefined : parse(text)?.atMs);
}

/** `undefined` if it is none of ours. */
export function documentValue(text: string): { version: number; text: string } | undefined {
  const fields = parse(text);
  if (fields === undefined || typeof fields.text !== 'string') return undefined;
  const version = number(fields.version);
  return Number.isSafeInteger(version) && version > 0 ? { version, text: fields.text } : undefined;
}

function holderIn(fields: Fields | undefined): Holder | undefined {
  return Holder.parse(optionalText(fields?.holder) ?? '');
}

function revocation(value: unknown): StoredRevocation | undefined {
  if (typeof value !== 'object' || value === null || !isAct(value as Fields)) return undefined;
  const { by, reason, atMs, reserveMs, to } = value as Fields & RevocationFields;
  const successor = typeof to === 'string' ? { to } : {};
  return { by, reason, atMs, reserveMs: number(reserveMs), ...successor };
}

/** Something stands there that is none: whoever took it for nothing would extend what an operator has ended. */
function isDamagedRevocation({ revocation: value }: Fields): boolean {
  return value !== undefined && revocation(value) === undefined;
}

type RevocationFields = Pick<Revocation, 'by' | 'reason' | 'atMs'>;

function isAct(fields: Fields): fields is Fields & RevocationFields {
  const { by, reason, atMs } = fields;
  return typeof by === 'string' && typeof reason === 'string' && isNumber(atMs);
}

/** A text that lacks what it must have was damaged: it is no better than somebody else's. */
function hasNumbers(fields: Fields, ...names: readonly string[]): boolean {
  return names.every((name) => isNumber(fields[name]));
}

function areNumbersOrAbsent(...values: readonly unknown[]): boolean {
  return values.every((value) => value === undefined || isNumber(value));
}

/** JSON can say `1e999`. */
function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

function number(value: unknown): number {
  return isNumber(value) ? value : 0;
}

/** A store lease as the gateway writes it; what asks the server for another text is refused as a whole. */
function isLeaseId(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,19}$/.test(value);
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
