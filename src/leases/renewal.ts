import type { Holder } from '../coordinators/index.js';
import type { Instant } from '../time/index.js';
import type { EndReason } from './end-reason.js';
import type { LedLife } from './led-life.js';
import type { LeaseEvent } from './machine.js';
import type { ResolvedTiming } from './options.js';

/** What a renewal tells a lease. */
export type RenewalEvent = Extract<
  LeaseEvent,
  { type: 'renewed' | 'renewal-failed' | 'connection-lost' | 'not-yours' }
>;

/** A lease as far as its renewal goes: the handle that users have, or its counterpart in another thread. */
export interface Renewable {
  readonly name: string;
  readonly holder: Holder;
  readonly term: number;
  readonly timing: ResolvedTiming;
  /** When the last request that succeeded was sent. */
  readonly anchor: Instant;
  readonly remainingMs: number;
  readonly endReason: EndReason | undefined;
  apply(event: RenewalEvent): void;
  /** What the next renewal has to carry; taken once, unless {@link metadataUnsent} gives it back. */
  takeChangedMetadata(): string | undefined;
  metadataUnsent(): void;
}

/** Keeps leases renewed, from this thread or from another. */
export interface Renewal<Member> {
  /** Those of one timing in the order in which they were added. */
  readonly leases: readonly Member[];
  /**
   * To await before a name is asked for: a grant must find somebody who renews it. `undefined` if there is nothing to wait
   * for; rejects if leases of this timing cannot be kept now.
   */
  ready?(timing: ResolvedTiming): Promise<void> | undefined;
  /** What has become of a lease that was not told yet. To be asked before each look at it, if others may renew it. */
  newsOf?(lease: Member): LedLife | undefined;
  add(lease: Member): void;
  remove(lease: Member): void;
  /** Renews now: the lease is in doubt, or its metadata has changed. */
  demand(lease: Member): void;
  /** Renews nothing any more. Safe to call twice. */
  close(): Promise<void>;
}
