import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';

/** A wait for the leadership of a name: until it was won, given up, or failed. */
export interface CampaignTrace {
  readonly name: string;
  /** The candidate's id. */
  readonly id: string;
  /** The term that was won; set before the end. */
  term?: number;
}

/** A term of this process, from `elected` until its lease has ended. */
export interface TermTrace {
  readonly name: string;
  readonly id: string;
  readonly term: number;
  /** Why it ended; set before the end. */
  reason?: string;
}

/** One request that hands leases to their successors. */
export interface HandoffTrace {
  readonly names: readonly string[];
  /** The holder ids, in the order of the names. */
  readonly to: readonly string[];
  /** How many of them the store confirmed; set before the end. */
  confirmedCount?: number;
}

/** One attempt of a handler at a message. No payload. */
export interface MessageTrace {
  readonly shard: number;
  readonly term: number;
  readonly key: string;
  readonly seq: number;
  readonly id: string;
  readonly attempt: number;
  /** Unix time of the append, by the store's clock. */
  readonly appendedAtMs: number;
}

/**
 * What takes its time and is worth a span, each as a tracing channel of `node:diagnostics_channel`: `start` when it begins,
 * `asyncEnd` when it is over, `error` before that if it failed. The same context object is told each time.
 */
export const traces = {
  campaign: tracingChannel<unknown, CampaignTrace>('tenure:campaign'),
  term: tracingChannel<unknown, TermTrace>('tenure:term'),
  handoff: tracingChannel<unknown, HandoffTrace>('tenure:handoff'),
  message: tracingChannel<unknown, MessageTrace>('tenure:message'),
};

/** Does it, and tells so where somebody listens. What it resolves with is told to nobody: it may be anything. */
export function traced<Context extends object, Result>(
  told: TracingChannel<unknown, Context>,
  context: Context,
  work: () => Promise<Result>,
): Promise<Result> {
  return told.hasSubscribers ? tell(told, context, work) : work();
}

async function tell<Context extends object, Result>(
  told: TracingChannel<unknown, Context>,
  context: Context,
  work: () => Promise<Result>,
): Promise<Result> {
  const results: Result[] = [];
  const run = async () => void results.push(await work());
  await told.tracePromise(run, context);
  return results[0] as Result;
}
