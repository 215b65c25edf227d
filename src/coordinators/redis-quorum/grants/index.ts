import type { AcquireRequest, AcquireResult } from '../../contract.js';
import type { Quorum } from '../quorum.js';
import { Acquisition, type GrantReports } from './acquisition.js';

/**
 * Grants in two steps. A *claim* at each node, in that node's own term, keeps others from the name for a moment. If a
 * majority gave it, the highest of their terms is written back to all, and counts once a majority has it: from then on
 * no majority grants a lower one.
 *
 * Claims that did not become a lease are taken back at every node. If several contend and nobody has a majority, all but
 * the first of them (see `verdict.ts`) give way at once and come again a moment later.
 */
export class Grants {
  readonly #quorum: Quorum;
  readonly #reports: GrantReports;

  constructor(quorum: Quorum, reports: GrantReports) {
    this.#quorum = quorum;
    this.#reports = reports;
  }

  async acquire(
    requests: readonly AcquireRequest[],
    timeoutMs: number,
    nodeTimeoutMs: number,
  ): Promise<AcquireResult[]> {
    const quorum = this.#quorum;
    const startedAtMs = quorum.nowMs();
    const deadline = quorum.deadlineIn(timeoutMs);
    const call = { quorum, timeoutMs, nodeTimeoutMs, startedAtMs, deadline };
    const acquisition = new Acquisition(call, this.#reports, requests);
    await acquisition.run();
    return acquisition.results;
  }
}
