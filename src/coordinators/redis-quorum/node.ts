import { type RedisScript, RedisSession, type ScriptCall } from '../../drivers/redis/index.js';
import { ClosedError, OutcomeUnknownError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import type { QuorumKeys } from './keys.js';
import type { Vote } from './majority.js';
import { asMember } from './scripts/member.js';

/** A vote, with what tells later whether the node still knows of it. */
export type NodeVote =
  | Exclude<Vote<unknown>, { readonly kind: 'answered' }>
  | {
      readonly kind: 'answered';
      readonly answer: unknown;
      /** Which memory the node has: it gets another id with each that it gets back. */
      readonly memory: string;
      /** Monotonic, ms. */
      readonly sentAtMs: number;
      readonly heardAtMs: number;
    };

/** What makes a node a member. */
export interface Marker {
  readonly keys: QuorumKeys;
  readonly text: string;
}

/** One master of a quorum: its connections, and what we know of it. */
export class QuorumNode {
  readonly number: number;
  readonly session: RedisSession;
  readonly #runtime: Runtime;
  /** How far the node's wall clock is ahead of our monotonic one, by its last answer. */
  #offsetMs: number | undefined;
  #isLagging = false;

  constructor(number: number, url: string, runtime: Runtime, connectTimeoutMs: number | undefined) {
    this.number = number;
    this.#runtime = runtime;
    this.session = new RedisSession('the Redis quorum', url, { runtime, connectTimeoutMs });
  }

  get address(): string {
    return this.session.connection.address;
  }

  /** Its last request had no answer: nobody waits for it who has enough without it. */
  get isLagging(): boolean {
    return this.#isLagging;
  }

  /** What the node's clock shows now, as far as we know. */
  get clockMs(): number | undefined {
    return this.#offsetMs === undefined ? undefined : this.#nowMs() + this.#offsetMs;
  }

  /** Runs a script whether or not the node is a member. @throws as `RedisConnection.run`. */
  async ask(script: RedisScript, call: ScriptCall, timeoutMs: number): Promise<unknown> {
    try {
      const value = await this.session.connection.run(script, call.keys, call.args, timeoutMs);
      this.#isLagging = false;
      return value;
    } catch (error) {
      if (!(error instanceof ClosedError)) this.#isLagging = true;
      throw error;
    }
  }

  /** Runs a script if the node has this marker. Never rejects. */
  async vote(
    script: RedisScript,
    call: ScriptCall,
    marker: Marker,
    timeoutMs: number,
  ): Promise<NodeVote> {
    const keys = [...call.keys, marker.keys.identity, marker.keys.marker];
    const args = [...call.args, marker.text];
    const sentAtMs = this.#nowMs();
    try {
      const reply = await this.ask(asMember(script), { keys, args }, timeoutMs);
      const heardAtMs = this.#nowMs();
      type Reply = ['member' | 'outsider', serverMs: string, memory: string, answer: unknown];
      const [verdict, serverMs, memory, answer] = reply as Reply;
      // Written between sending and receiving: the middle is off by half a round trip at most.
      this.#offsetMs = Number(serverMs) - (sentAtMs + heardAtMs) / 2;
      if (verdict !== 'member') return { kind: 'outsider' };
      return { kind: 'answered', answer, memory, sentAtMs, heardAtMs };
    } catch (error) {
      const executed = error instanceof OutcomeUnknownError ? 'unknown' : 'no';
      return { kind: 'failed', error: error as Error, executed };
    }
  }

  #nowMs(): number {
    return this.#runtime.now().monotonicMs;
  }

  close(): Promise<void> {
    return this.session.close();
  }
}
