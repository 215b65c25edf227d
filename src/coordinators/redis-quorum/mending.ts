import type { Runtime } from '../../time/index.js';
import type { QuorumKeys } from './keys.js';
import { majorityOf } from './majority.js';
import type { QuorumNode } from './node.js';
import { seedNode } from './seeding.js';

export interface MembershipReports {
  nodeOut(address: string, reason: string): void;
  nodeReseeded(address: string): void;
}

/** The nodes, and what ends with them. */
export interface Nodes {
  readonly nodes: readonly QuorumNode[];
  readonly keys: QuorumKeys;
  readonly runtime: Runtime;
  readonly closing: AbortSignal;
  /** Ends early when they are closed. */
  pause(durationMs: number): Promise<void>;
}

/** After a failed try to give a node its memory back, the next one waits for this long. */
const mendPauseMs = 1_000;

/** Which nodes are out, and how they come back: in the background, as often as somebody meets them. */
export class Mending {
  readonly #nodes: Nodes;
  readonly #reports: MembershipReports;
  /** Why each of them is. */
  readonly #out = new Map<number, string>();
  readonly #attempts = new Map<number, { notBeforeMs: number; isRunning: boolean }>();

  constructor(nodes: Nodes, reports: MembershipReports) {
    this.#nodes = nodes;
    this.#reports = reports;
  }

  /** Whoever was told that it is out is told that it is back, whoever brought it. */
  noteMember(number: number): void {
    if (this.#out.delete(number)) this.#reports.nodeReseeded(this.#addressOf(number));
  }

  noteOut(number: number, reason: string): void {
    if (this.#out.get(number) === reason) return;
    this.#out.set(number, reason);
    this.#reports.nodeOut(this.#addressOf(number), reason);
  }

  /** Gives a node its memory back, unless somebody is at it or has just tried. `sources`: from how many others at least. */
  mend(number: number, marker: string, sources = majorityOf(this.#nodes.nodes.length)): void {
    const attempt = this.#attempts.get(number) ?? { notBeforeMs: 0, isRunning: false };
    const isTooEarly = this.#nowMs() < attempt.notBeforeMs;
    if (attempt.isRunning || isTooEarly || this.#nodes.closing.aborted) return;
    attempt.isRunning = true;
    this.#attempts.set(number, attempt);
    const noteLost = () => this.noteOut(number, 'it lost its memory');
    void seedNode({ ...this.#nodes, noteLost }, number, marker, sources)
      .then((outcome) => {
        if (outcome === 'stranger') this.noteOut(number, 'it is a member of another quorum');
        if (outcome === 'used-alone')
          this.noteOut(number, 'leases of this namespace were granted there without the quorum');
        if (outcome === 'seeded') this.noteMember(number);
      })
      // Whoever meets it again tries again.
      .catch(() => undefined)
      .finally(() => {
        attempt.isRunning = false;
        attempt.notBeforeMs = this.#nowMs() + mendPauseMs;
      });
  }

  #addressOf(number: number): string {
    return this.#nodes.nodes[number]?.address ?? '';
  }

  #nowMs(): number {
    return this.#nodes.runtime.now().monotonicMs;
  }
}
