import { errorKindOf } from '../../errors/error-kind.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Lease, Leases } from '../../leases/index.js';
import { elapsedMs } from '../../time/index.js';
import { RecentExtreme } from '../recent.js';
import { all, type Site } from '../site.js';
import { observeNodes } from './nodes.js';

/** Leases whose deadline has passed with nobody renewing them in time. */
const passedDeadlines = new Set(['expired', 'unreachable', 'stalled']);

export function observeLeases(site: Site, leases: Leases): Unsubscribe {
  const { instruments } = site;
  const { coordinator, events } = leases;
  const { store } = coordinator.promises;
  const nearest = new Nearest(leases);
  instruments.acquired.expect({ store });
  instruments.connectionsLost.expect({ store });
  instruments.duplicateIds.expect({ store });
  return all(
    events.on('acquired', () => instruments.acquired.add({ store })),
    events.on('uncertain', ({ cause }) => instruments.uncertain.add({ store, cause })),
    events.on('released', ({ reason }) => instruments.leaseEnded.add({ store, reason })),
    events.on('lost', ({ lease, reason }) => {
      instruments.leaseEnded.add({ store, reason });
      if (passedDeadlines.has(reason)) nearest.note(0, lease.timing.giveUpAfterMs);
    }),
    events.on('renewal', ({ roundTripMs, error, shortestRemainingMs, giveUpAfterMs }) => {
      const outcome = error === undefined ? 'answered' : 'failed';
      instruments.renewal.record({ store, outcome }, roundTripMs / 1000);
      nearest.note(shortestRemainingMs, giveUpAfterMs);
      if (error !== undefined)
        instruments.storeErrors.add({ operation: 'renew', kind: errorKindOf(error) });
    }),
    events.on('duplicate', () => instruments.duplicateIds.add({ store })),
    coordinator.onConnectionLost(() => instruments.connectionsLost.add({ store })),
    observeNodes(site, coordinator, leases.runtime),
    site.onCollect({
      tell: () => {
        const { live } = leases;
        for (const state of ['held', 'uncertain'] as const) {
          const count = live.filter((lease) => lease.state === state).length;
          instruments.leases.tell({ store, state }, count);
        }
        const { remainingMs, share } = nearest.take(live);
        if (remainingMs !== undefined) instruments.remaining.tell({ store }, remainingMs / 1000);
        if (share !== undefined) instruments.remainingShare.tell({ store }, share);
      },
    }),
  );
}

/** How near its deadline any lease came lately: at its renewals, and now. */
class Nearest {
  readonly #leases: Leases;
  readonly #remainingMs: RecentExtreme;
  readonly #share: RecentExtreme;

  constructor(leases: Leases) {
    this.#leases = leases;
    this.#remainingMs = new RecentExtreme(leases.runtime, Math.min);
    this.#share = new RecentExtreme(leases.runtime, Math.min);
  }

  note(remainingMs: number, giveUpAfterMs: number): void {
    this.#remainingMs.note(remainingMs);
    this.#share.note(giveUpAfterMs > 0 ? remainingMs / giveUpAfterMs : 0);
  }

  take(live: readonly Lease[]): {
    readonly remainingMs: number | undefined;
    readonly share: number | undefined;
  } {
    const now = this.#leases.runtime.now();
    for (const { anchor, timing } of live) {
      const leftMs = Math.max(0, timing.giveUpAfterMs - elapsedMs(anchor, now));
      this.note(leftMs, timing.giveUpAfterMs);
    }
    return { remainingMs: this.#remainingMs.take(), share: this.#share.take() };
  }
}
