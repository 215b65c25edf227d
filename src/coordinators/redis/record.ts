import type { LeaseRecord } from '../contract.js';
import { Holder } from '../holder.js';
import { isTerm } from '../term.js';

/*
 * What stands under the key of a name, as one text. The first character is the version of the format. No field but the
 * last can hold a bar, so a comparison up to a bar compares whole fields.
 *
 *   lease:        1L|<term>|<holder id>:<nonce>|<ttl ms>|<attempt>|<granted at, Unix ms>|<metadata, or nothing>
 *   reservation:  1R|<term handed off>|<holder id>|<reserve ms>
 */

const lease = /^1L\|(\d{1,16})\|([^|]+)\|(\d{1,8})\|([0-9a-f]{32})\|(\d{1,16})\|([\s\S]*)$/;
const reservation = /^1R\|(\d{1,16})\|([^|:]+)\|(\d{1,8})$/;

/** The beginning of a lease's text, up to and with its ttl: what a renewal that changes nothing else compares. */
export function leasePrefix(term: number, wire: string, ttlMs: number): string {
  return `1L|${term}|${wire}|${ttlMs}|`;
}

/**
 * A stored text as a record, or `undefined` if it is not one of ours.
 *
 * `remainingMs` is what the server says of its TTL; it is none (-1) or absurd after somebody removed it or stepped the
 * clock, and then stands for a whole ttl, which is what the next acquire will set it to.
 */
export function parseRecord(
  name: string,
  text: string,
  remainingMs: number,
): LeaseRecord | undefined {
  return parseLease(name, text, remainingMs) ?? parseReservation(name, text, remainingMs);
}

function parseLease(name: string, text: string, remainingMs: number): LeaseRecord | undefined {
  const [, term, wire = '', ttl, , grantedAt, metadata] = lease.exec(text) ?? [];
  const holder = Holder.parse(wire);
  if (holder === undefined || !isTerm(Number(term))) return undefined;
  const ttlMs = Number(ttl);
  return {
    state: 'held',
    name,
    holder,
    term: Number(term),
    ttlMs,
    remainingMs: plausible(remainingMs, ttlMs),
    grantedAtMs: Number(grantedAt),
    metadata: metadata === '' ? undefined : metadata,
  };
}

function parseReservation(
  name: string,
  text: string,
  remainingMs: number,
): LeaseRecord | undefined {
  const [, term, to, reserve] = reservation.exec(text) ?? [];
  if (to === undefined || !isTerm(Number(term))) return undefined;
  return {
    state: 'reserved',
    name,
    to,
    term: Number(term),
    remainingMs: plausible(remainingMs, Number(reserve)),
  };
}

function plausible(remainingMs: number, ttlMs: number): number {
  return remainingMs < 0 ? ttlMs : Math.min(remainingMs, ttlMs);
}
