import { randomUUID } from 'node:crypto';
import {
  type Coordinator,
  type Diagnosis,
  diagnose,
  type Election,
  Elections,
  type Lease,
  type LeaseEvents,
  Leases,
} from '../../src/index.js';

export const name = 'payments';

export interface Leader {
  readonly leases: Leases;
  readonly election: Election;
  /** Resolves when the `number`th renewal from now on, of those that the test wants, has ended. */
  renewed(number: number, isWanted?: (report: LeaseEvents['renewal']) => boolean): Promise<void>;
  /** The next loss. */
  lost(): Promise<LeaseEvents['lost']>;
  close(): Promise<void>;
}

const whileLed = (_lease: Lease, { stopping }: { readonly stopping: AbortSignal }) =>
  new Promise<void>((resolve) => {
    stopping.addEventListener('abort', () => resolve(), { once: true });
  });

export interface LeaderOptions {
  readonly id?: string;
  readonly ttlMs?: number;
  readonly work?: (lease: Lease, context: { readonly stopping: AbortSignal }) => unknown;
}

/** A candidate in this process, which leads whenever it can. The coordinator is closed with it. Resolves once it leads. */
export async function leader(
  coordinator: Coordinator,
  { id = 'replica-1', ttlMs = 3_000, work = whileLed }: LeaderOptions = {},
): Promise<Leader> {
  const leases = new Leases(coordinator, { id, ttlMs });
  const elections = new Elections(leases);
  const election = elections.election(name, { firstPauseMs: 20, longestPauseMs: 50 });
  const elected = new Promise((resolve) => election.events.on('elected', resolve));
  const leading = election.lead(work);
  leading.catch(() => {});
  await elected;
  return {
    leases,
    election,
    renewed: (number, isWanted = ({ error }) => error === undefined) =>
      new Promise((resolve) => {
        let count = 0;
        const stop = leases.events.on('renewal', (report) => {
          if (!isWanted(report) || ++count < number) return;
          stop();
          resolve();
        });
      }),
    lost: () =>
      new Promise((resolve) => {
        const stop = leases.events.on('lost', (event) => {
          stop();
          resolve(event);
        });
      }),
    close: async () => {
      await elections.close();
      await leases.close();
      await coordinator.close();
    },
  };
}

export function freshNamespace(): string {
  return `diagnosis-${randomUUID()}`;
}

/** Asked again until there is what the test waits for: who lost a term tells it when it reaches the store. */
export async function diagnosedWhen(
  coordinator: Coordinator,
  isWanted: (diagnosis: Diagnosis) => boolean,
  limitMs = 45_000,
): Promise<Diagnosis> {
  const startedMs = performance.now();
  for (;;) {
    const diagnosis = await diagnose({ coordinator, name, timeoutMs: 30_000 });
    if (isWanted(diagnosis)) return diagnosis;
    if (performance.now() - startedMs > limitMs)
      throw new Error(`waited in vain; now it is\n${JSON.stringify(diagnosis, undefined, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The loss has been told by who lost it. */
export const isWitnessed = ({ witnessedCount }: Diagnosis): boolean => witnessedCount > 0;
