import assert from 'node:assert/strict';
import { OptionError } from '../../errors/index.js';
import type {
  OnceBeginRequest,
  OnceEnd,
  OnceEndRequest,
  OnceSettleRequest,
  OnceStore,
} from '../contract.js';
import type { OnceRecord } from '../records.js';

export const call = { timeoutMs: 5_000 };
export const act = { by: 'operator', reason: 'the ledger says so' };
export const key = 'charge/order-17';
export const dayMs = 24 * 60 * 60 * 1000;
/** Long enough that no case sees it pass. */
export const longMs = 60 * 60 * 1000;
/** What a case waits for. */
export const shortMs = 100;

let nonceCount = 0;

export function freshNonce(): string {
  nonceCount += 1;
  return nonceCount.toString(16).padStart(32, '0');
}

export function beginning(fields: Partial<OnceBeginRequest> = {}): OnceBeginRequest {
  return { key, nonce: freshNonce(), startedBy: 'tester-1', timeoutMs: longMs, ...fields };
}

export const done: OnceEnd = { kind: 'done', result: '{"receipt":7}', keepMs: dayMs };
export const failed: OnceEnd = { kind: 'unknown', detail: 'Error: the line broke' };
export const notApplied: OnceEnd = {
  kind: 'not-applied',
  detail: 'the card was declined',
  keepMs: dayMs,
};

export function ending(nonce: string, end: OnceEnd = done, ofKey = key): OnceEndRequest {
  return { key: ofKey, nonce, end };
}

export function settling(fields: Partial<OnceSettleRequest> = {}): OnceSettleRequest {
  const end = { kind: 'done', result: '{"receipt":8}', keepMs: dayMs } as const;
  return { key, nonce: freshNonce(), ...act, end, ...fields };
}

/** Begins, which has to succeed. */
export async function begun(
  store: OnceStore,
  fields: Partial<OnceBeginRequest> = {},
): Promise<{ readonly nonce: string; readonly record: OnceRecord }> {
  const request = beginning(fields);
  const { outcome, record } = await store.begin(request, call);
  assert.equal(outcome, 'begun');
  return { nonce: request.nonce, record };
}

/** Begins and ends, both of which have to succeed. */
export async function ended(
  store: OnceStore,
  end: OnceEnd,
  fields: Partial<OnceBeginRequest> = {},
): Promise<{ readonly nonce: string; readonly record: OnceRecord }> {
  const { nonce } = await begun(store, fields);
  const result = await store.end(ending(nonce, end, fields.key), call);
  assert.equal(result.outcome, 'recorded');
  return { nonce, record: result.record as OnceRecord };
}

export async function read(store: OnceStore, ofKey = key): Promise<OnceRecord> {
  const record = await store.read(ofKey, call);
  assert.ok(record, `${ofKey} is known`);
  return record;
}

/** As records are compared: what passes of the time is not. */
export function still(record: OnceRecord | undefined): Omit<OnceRecord, 'remainingMs'> | undefined {
  if (record === undefined) return undefined;
  const { remainingMs: _, ...rest } = record;
  return rest;
}

export async function refused(asked: Promise<unknown>): Promise<void> {
  await assert.rejects(asked, OptionError);
}
