import type { LeaseRecord } from '../record.js';

/** A result in a message, without the holder's nonce. */
export function show(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing';
}

/** The term that a record shows, if it shows one of its own. */
export function termOf(record: LeaseRecord | undefined): number | undefined {
  return record === undefined || record.state === 'suspended' ? undefined : record.term;
}
