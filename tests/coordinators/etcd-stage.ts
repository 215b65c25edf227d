import { Holder } from '../../src/coordinators/holder.js';
import type { AcquireResult, Coordinator, HeldRecord } from '../../src/coordinators/index.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { until } from '../support/until.js';

export { call } from '../support/call.js';

/** A holder with a client, as tests of one store need them. */
export class Actor {
  readonly client: Coordinator;
  readonly holder: Holder;

  constructor(client: Coordinator, id: string) {
    this.client = client;
    this.holder = Holder.create(id, realRuntime);
  }

  async acquire(
    name: string,
    parts: { ttlMs?: number; above?: number; graceMs?: number; keepHistory?: boolean } = {},
    options = call,
  ): Promise<AcquireResult> {
    const attempt = realRuntime.randomHex(16);
    const request = { name, holder: this.holder, attempt, ttlMs: 2_000, ...parts };
    const [result] = await this.client.acquire([request], options);
    if (result === undefined) throw new Error('a request has no answer');
    return result;
  }

  async take(name: string, parts: Parameters<Actor['acquire']>[1] = {}): Promise<number> {
    const result = await this.acquire(name, parts);
    if (result.outcome === 'granted') return result.term;
    throw new Error(`${this.holder.id} was not granted ${name}: ${JSON.stringify(result)}`);
  }

  async renew(name: string, term: number, ttlMs = 2_000, options = call): Promise<string> {
    const [result] = await this.client.renew([{ name, holder: this.holder, term, ttlMs }], options);
    return result?.outcome === 'not-yours' ? result.reason : (result?.outcome ?? '');
  }

  async release(name: string, term: number): Promise<void> {
    await this.client.release([{ name, holder: this.holder, term }], call);
  }

  async enroll(name: string, ttlMs = 10_000, preference = 0): Promise<void> {
    const request = { name, holder: this.holder, standing: 'waiting', preference, ttlMs } as const;
    await this.client.enroll([request], call);
  }

  /** Waits until it is called to the name, or the queue moved, and takes it. */
  async wins(name: string): Promise<number> {
    return until(`${this.holder.id} wins ${name}`, async () => {
      const result = await this.acquire(name, { ttlMs: 10_000 });
      return result.outcome === 'granted' && result.term;
    });
  }

  async held(name: string): Promise<HeldRecord> {
    const [record] = await this.client.read([name], call);
    if (record?.state === 'held') return record;
    throw new Error(`${name} is not held: ${JSON.stringify(record)}`);
  }
}

export function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
