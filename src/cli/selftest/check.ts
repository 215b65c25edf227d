import type { Coordinator } from '../../coordinators/index.js';
import type { MemoryFence } from '../../fences/memory/index.js';
import type { StreamStore } from '../../streams/contract.js';
import type { MessageHandler } from '../../streams/worker/index.js';
import type { SelftestClock } from './clock.js';

/** One question, asked of the real library on a real store. */
export interface Check {
  /** For reports, and for the names of what it stores. */
  readonly name: string;
  /** What must hold, in one line. */
  readonly claim: string;
  run(bench: Bench): Promise<Finding>;
}

/** What a check saw. */
export interface Finding {
  readonly passed: boolean;
  /** It saw what no slowness excuses: a failure, however late this machine was. Default: it did not. */
  readonly isWrong?: boolean;
  /** The numbers it was judged by, one fact each. */
  readonly figures: readonly string[];
}

/**
 * What a check works with. Everything a worker would use may be sabotaged; `observer` never is, since it is the eye of
 * the one who judges.
 */
export interface Bench {
  /** Names of leases and topics of this check begin with it, so that checks may run side by side. */
  readonly name: string;
  readonly observer: Coordinator;
  readonly clock: SelftestClock;
  /** A worker's client of the coordinator; closed with the bench. */
  openCoordinator(): Coordinator;
  /** A worker's or publisher's client of the check's topic; closed with the bench. */
  openStreams(): StreamStore;
  /** A fence and the resource it guards, of this check's own. */
  readonly fence: MemoryFence;
  handlerOf<Payload>(handler: MessageHandler<Payload>): MessageHandler<Payload>;
}

/** How far timers and a busy machine may be late without a claim being wrong. */
export const toleranceMs = 250;
/** A call of the judge himself: his patience proves nothing. */
export const observerCall = { timeoutMs: 5_000 };
/** Leaving proves nothing either, so it is not waited for. */
export const impatience = { drainTimeoutMs: 1_000, abortGraceMs: 500 };
