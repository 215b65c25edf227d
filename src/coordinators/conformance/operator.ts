import assert from 'node:assert/strict';
import type { Act, RevokeRequest } from '../acts.js';
import type { CallOptions, Coordinator } from '../contract.js';
import type { ActEntry, HistoryEntry, TermEntry } from '../history.js';
import type { LeaseRecord, SuspendedRecord } from '../record.js';
import { show } from './show.js';

/** Who does it, unless a case says otherwise. */
export const usualAct: Act = { by: 'ops@example', reason: 'maintenance, ticket 7 ä€😀' };

/** A person with a client of their own, who stops and moves names and asks what happened. */
export class Operator {
  readonly client: Coordinator;
  readonly #call: CallOptions;

  constructor(client: Coordinator, call: CallOptions) {
    this.client = client;
    this.#call = call;
  }

  revoke(
    name: string,
    parts: Partial<RevokeRequest> = {},
    call: CallOptions = this.#call,
  ): Promise<LeaseRecord | undefined> {
    return this.client.revoke(name, { ...usualAct, ...parts }, call);
  }

  suspend(
    name: string,
    parts: Partial<Act> = {},
    call: CallOptions = this.#call,
  ): Promise<LeaseRecord> {
    return this.client.suspend(name, { ...usualAct, ...parts }, call);
  }

  resume(name: string, parts: Partial<Act> = {}, call: CallOptions = this.#call): Promise<boolean> {
    return this.client.resume(name, { ...usualAct, ...parts }, call);
  }

  async read(name: string): Promise<LeaseRecord | undefined> {
    return (await this.client.read([name], this.#call))[0];
  }

  /** Reads and expects a suspension. */
  async seesSuspended(name: string): Promise<SuspendedRecord> {
    const record = await this.read(name);
    if (record?.state === 'suspended') return record;
    return assert.fail(`${name} should be suspended: ${show(record)}`);
  }

  history(name: string): Promise<HistoryEntry[]> {
    return this.client.history(name, this.#call);
  }

  /** The lines about terms alone. */
  async terms(name: string): Promise<TermEntry[]> {
    const entries = await this.history(name);
    return entries.filter((entry): entry is TermEntry => entry.kind === 'term');
  }

  /** The lines about acts alone. */
  async acts(name: string): Promise<ActEntry[]> {
    const entries = await this.history(name);
    return entries.filter((entry): entry is ActEntry => entry.kind === 'act');
  }
}
