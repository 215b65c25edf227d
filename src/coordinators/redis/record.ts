import { longestTtlMs } from '../contract.js';
import { historyLifeMs } from '../history.js';
import { Holder } from '../holder.js';
import type { HeldRecord, LeaseRecord, Revocation } from '../record.js';
import { isTerm } from '../term.js';
import { ttlSlackMs } from './limits.js';
import { parseWords } from './words.js';

/*
 * What stands under the key of a name, as one text. The first character is the version of the format. No field but the
 * last can hold a bar, so a comparison up to a bar compares whole fields.
 *
 *   plain lease:  2L|<head>|<metadata, or nothing>
 *   lease with a lock-delay or a history:
 *                 2E|<head>|<metadata, or nothing>
 *   revoked one:  2X|<head>|<revoked at>|<words>|<successor's holder id, or nothing>|<reserve ms>|<metadata, or nothing>
 *   reservation:  2R|<term handed off>|<holder id>|<reserve ms>
 *
 *   head:         <term>|<holder id>:<nonce>|<ttl ms>|<lock-delay ms>|<remembered ms>|<attempt>|<granted at>
 *
 * Times are Unix ms. A key lives for all that its text names, in this order: the ttl, the lock-delay, the reservation,
 * and the time in which it is remembered for the history. So what is left of its TTL tells what stands there now; only
 * for a plain lease is it the time that the lease has left.
 *
 * Beside them, in the table of suspensions:
 *
 *   suspension:   1|<suspended at>|<words>
 */

const lease =
  /^2([LEX])\|(\d{1,16})\|([^|]+)\|(\d{1,8})\|(\d{1,8})\|(\d{1,10})\|([0-9a-f]{32})\|(\d{1,16})\|([\s\S]*)$/;
const revocation = /^(\d{1,16})\|([^|]*)\|([^|]*)\|(\d{1,8})\|([\s\S]*)$/;
const reservation = /^2R\|(\d{1,16})\|([^|:]+)\|(\d{1,8})$/;
const suspension = /^1\|(\d{1,16})\|([^|]*)$/;

/** What the server says of a name. */
export interface Found {
  /** What stands under the key; `null`: nothing. */
  readonly text: string | null;
  /** As PTTL says it: none (-1) or absurd after somebody removed it, or stepped the clock. It then stands for a whole one. */
  readonly remainingMs: number;
  /** What stands in the table of suspensions; `null`: nothing. */
  readonly suspension: string | null;
  /** The server's time. */
  readonly nowMs: number;
}

/** The beginning of a plain lease's text, up to and with its ttl: what a renewal that changes nothing else compares. */
export function leasePrefix(term: number, wire: string, ttlMs: number): string {
  return `2L|${term}|${wire}|${ttlMs}|`;
}

/** What was found, as a record; `free`: there is nothing, or it is over and only remembered; `undefined`: it is not ours. */
export function parseRecord(name: string, found: Found): LeaseRecord | 'free' | undefined {
  const stands = parseTimed(name, found);
  if (stands === undefined || found.suspension === null) return stands;
  const suspended = parseSuspension(found.suspension);
  if (suspended === undefined) return undefined;
  const ending = stands !== 'free' && stands.state === 'held' ? stands : undefined;
  return { state: 'suspended', name, suspension: suspended, ending };
}

/** The same where something that is not ours counts as nothing, as long as the name is not suspended. */
export function parseOwnRecord(name: string, found: Found): LeaseRecord | undefined {
  const record = parseRecord(name, found) ?? parseRecord(name, { ...found, text: null });
  return record === 'free' ? undefined : record;
}

/**
 * Whether what was found would outlive its own time: somebody removed its TTL, or set the server's clock back. The same as
 * `isOdd` in `scripts/records.ts`, which cuts it down.
 */
export function outlivesItself({ text, remainingMs }: Found): boolean {
  const spans = text === null ? undefined : spansOf(text);
  if (spans === undefined) return false;
  return remainingMs < 0 || remainingMs > wholeOf(spans) + ttlSlackMs;
}

function parseSuspension(text: string): Revocation | undefined {
  const [, at, encoded = ''] = suspension.exec(text) ?? [];
  const words = parseWords(encoded);
  return words === undefined ? undefined : { ...words, atMs: Number(at) };
}

/** What a text names, in the order in which it passes. */
interface Spans {
  readonly ttlMs: number;
  readonly graceMs: number;
  readonly reserveMs: number;
  readonly keptMs: number;
}

function wholeOf({ ttlMs, graceMs, reserveMs, keptMs }: Spans): number {
  return ttlMs + graceMs + reserveMs + keptMs;
}

/** Of a lease or a reservation; of what is neither, nothing that counts. */
function spansOf(text: string): Spans | undefined {
  const [, kind, , , ttl, grace, kept, , , rest = ''] = lease.exec(text) ?? [];
  if (kind === undefined) {
    const [, , , reserve] = reservation.exec(text) ?? [];
    if (reserve === undefined) return undefined;
    return { ttlMs: 0, graceMs: 0, reserveMs: Number(reserve), keptMs: 0 };
  }
  const reserveMs = kind === 'X' ? (parseRevocation(rest)?.reserveMs ?? 0) : 0;
  return { ttlMs: Number(ttl), graceMs: Number(grace), reserveMs, keptMs: Number(kept) };
}

type Timed = Exclude<LeaseRecord, { state: 'suspended' }>;

function parseTimed(name: string, { text, remainingMs, nowMs }: Found): Timed | 'free' | undefined {
  if (text === null) return 'free';
  return parseLease(name, text, remainingMs, nowMs) ?? parseReservation(name, text, remainingMs);
}

function parseLease(
  name: string,
  text: string,
  remainingMs: number,
  nowMs: number,
): Timed | 'free' | undefined {
  const [, kind, termText, wire = '', ttl, grace, kept, attempt = '', grantedAt, rest = ''] =
    lease.exec(text) ?? [];
  const holder = Holder.parse(wire);
  const term = Number(termText);
  const end = kind === 'X' ? parseRevocation(rest) : { metadata: rest, reserveMs: 0 };
  if (holder === undefined || !isTerm(term) || end === undefined) return undefined;
  const ttlMs = Number(ttl);
  const graceMs = Number(grace);
  const spans = { ttlMs, graceMs, reserveMs: end.reserveMs, keptMs: Number(kept) };
  if (!isPossible(spans) || (kind === 'L' && spans.graceMs + spans.keptMs > 0)) return undefined;
  const stands = standing(spans, remainingMs);
  if (stands.state !== 'held') return withoutHolder(name, term, stands, end.revocation?.to ?? '');
  const grantedAtMs = Number(grantedAt);
  const record: HeldRecord = {
    state: 'held',
    name,
    holder,
    term,
    leaseId: attempt,
    ttlMs,
    remainingMs: stands.remainingMs,
    grantedAtMs,
    renewedAtMs: Math.max(grantedAtMs, nowMs + stands.remainingMs - ttlMs),
    metadata: end.metadata === '' ? undefined : end.metadata,
    graceMs,
    revocation: end.revocation,
  };
  return record;
}

interface End {
  readonly metadata: string;
  readonly reserveMs: number;
  readonly revocation?: Revocation;
}

function parseRevocation(text: string): End | undefined {
  const [, at, encoded = '', to, reserve, metadata = ''] = revocation.exec(text) ?? [];
  const words = parseWords(encoded);
  if (words === undefined) return undefined;
  const successor = to === undefined || to === '' ? {} : { to };
  const reserveMs = Number(reserve);
  return { metadata, reserveMs, revocation: { ...words, atMs: Number(at), ...successor } };
}

function parseReservation(
  name: string,
  text: string,
  remainingMs: number,
): Timed | 'free' | undefined {
  const [, term, to, reserve] = reservation.exec(text) ?? [];
  const spans = { ttlMs: 0, graceMs: 0, reserveMs: Number(reserve), keptMs: 0 };
  if (to === undefined || !isTerm(Number(term)) || !isPossible(spans)) return undefined;
  return withoutHolder(name, Number(term), standing(spans, remainingMs), to);
}

function isPossible({ ttlMs, graceMs, reserveMs, keptMs }: Spans): boolean {
  return Math.max(ttlMs, graceMs, reserveMs) <= longestTtlMs && keptMs <= historyLifeMs;
}

interface Stands {
  readonly state: 'held' | 'lock-delay' | 'reserved' | 'free';
  /** Until this state ends. */
  readonly remainingMs: number;
}

/** What stands there by what is left of the key's TTL. The same as `weigh` in `scripts/records.ts`. */
function standing(spans: Spans, remainingMs: number): Stands {
  const { ttlMs, graceMs, reserveMs, keptMs } = spans;
  const wholeMs = wholeOf(spans);
  const goneInMs = remainingMs < 0 ? wholeMs : Math.min(remainingMs, wholeMs);
  const freeInMs = goneInMs - keptMs;
  const delayedForMs = freeInMs - reserveMs;
  const heldForMs = delayedForMs - graceMs;
  if (ttlMs > 0 && heldForMs >= 0) return { state: 'held', remainingMs: heldForMs };
  if (graceMs > 0 && delayedForMs >= 0) return { state: 'lock-delay', remainingMs: delayedForMs };
  if (reserveMs > 0 && freeInMs >= 0) return { state: 'reserved', remainingMs: freeInMs };
  return { state: 'free', remainingMs: 0 };
}

function withoutHolder(
  name: string,
  term: number,
  { state, remainingMs }: Stands,
  to: string,
): Timed | 'free' {
  if (state === 'lock-delay') return { state, name, term, remainingMs };
  return state === 'reserved' ? { state, name, to, term, remainingMs } : 'free';
}
