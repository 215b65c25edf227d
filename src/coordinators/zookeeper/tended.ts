import { elapsedMs, type Instant, type Runtime, type Timer } from '../../time/index.js';
import type { Holder } from '../holder.js';
import type { LeaseSession } from './sessions.js';

/** A node of ours that goes with a session, and has to go earlier if nobody renews it. */
export interface TendedNode {
  readonly kind: 'lease' | 'candidate';
  readonly name: string;
  readonly path: string;
  readonly session: LeaseSession;
  ttlMs: number;
  /** By the clock of {@link TendedNodes}, which counts the time in which the machine is suspended. */
  deadlineMs: number;
  /** Its time was over when somebody last looked; it is being ended. */
  isDue?: boolean;
  /** The transaction that last wrote it as far as we know: whoever wrote it since has renewed it. */
  modifiedZxid: number | undefined;
  /** Of a lease: what a renewal has to agree with. */
  readonly holder?: Holder;
  term?: number | undefined;
  nameVersion?: number | undefined;
  metadata?: string | undefined;
}

/** Tells when one of our nodes was not renewed in its time. A session lives on as long as the process; a lease does not. */
export class TendedNodes {
  readonly #runtime: Runtime;
  readonly #startedAt: Instant;
  readonly #onDue: (nodes: TendedNode[]) => void;
  readonly #byPath = new Map<string, TendedNode>();
  /** The path of the lease of a name that is ours. */
  readonly #leases = new Map<string, string>();
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(runtime: Runtime, onDue: (nodes: TendedNode[]) => void) {
    this.#runtime = runtime;
    this.#startedAt = runtime.now();
    this.#onDue = onDue;
  }

  get(path: string): TendedNode | undefined {
    return this.#byPath.get(path);
  }

  /** Whether its time is over, and nobody has written to it since we last did. */
  isOverdue(path: string, modifiedZxid: number): boolean {
    const node = this.#byPath.get(path);
    if (node === undefined || node.modifiedZxid !== modifiedZxid) return false;
    return this.isOver(node);
  }

  /** Whether its time is over, as far as we know. */
  isOver(node: TendedNode): boolean {
    return node.isDue === true || node.deadlineMs <= this.#nowMs();
  }

  leaseOf(name: string): TendedNode | undefined {
    const path = this.#leases.get(name);
    return path === undefined ? undefined : this.#byPath.get(path);
  }

  /** From now on, for its ttl. */
  tend(node: Omit<TendedNode, 'deadlineMs'>): void {
    this.forget(node.path);
    node.session.count += 1;
    const tended = { ...node, deadlineMs: this.#nowMs() + node.ttlMs };
    this.#byPath.set(node.path, tended);
    if (node.kind === 'lease') this.#leases.set(node.name, node.path);
    this.#arm(tended.deadlineMs);
  }

  /** It was renewed just now. */
  renewed(node: TendedNode, ttlMs: number, modifiedZxid: number | undefined): void {
    node.ttlMs = ttlMs;
    node.modifiedZxid = modifiedZxid;
    node.isDue = false;
    this.postpone(node, ttlMs);
  }

  /** Looks again later. */
  postpone(node: TendedNode, delayMs: number): void {
    node.deadlineMs = this.#nowMs() + delayMs;
    this.#arm(node.deadlineMs);
  }

  forget(path: string): void {
    const node = this.#byPath.get(path);
    if (node === undefined) return;
    node.session.count -= 1;
    this.#byPath.delete(path);
    if (this.#leases.get(node.name) === path) this.#leases.delete(node.name);
  }

  forgetSession(session: LeaseSession): void {
    for (const node of [...this.#byPath.values()])
      if (node.session === session) this.forget(node.path);
  }

  clear(): void {
    this.#timer?.cancel();
    this.#byPath.clear();
    this.#leases.clear();
  }

  /** Renewals only move deadlines away, so a timer that fires too early costs one look. */
  #arm(atMs: number): void {
    if (atMs >= this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    const delayMs = Math.max(0, atMs - this.#nowMs());
    this.#timer = this.#runtime.setTimer(delayMs, () => this.#fire(), { keepsProcessAlive: false });
  }

  #nowMs(): number {
    return elapsedMs(this.#startedAt, this.#runtime.now());
  }

  #fire(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#nowMs();
    const due = [...this.#byPath.values()].filter(({ deadlineMs }) => deadlineMs <= nowMs);
    // Until somebody has looked, the next look is a ttl away.
    for (const node of due) {
      node.deadlineMs = nowMs + node.ttlMs;
      node.isDue = true;
    }
    const deadlines = [...this.#byPath.values()].map(({ deadlineMs }) => deadlineMs);
    if (deadlines.length > 0) this.#arm(deadlines.reduce((one, other) => Math.min(one, other)));
    if (due.length > 0) this.#onDue(due);
  }
}
