/// <reference types="node" preserve="true" />
import { type Channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';

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
 * A tracing channel of `node:diagnostics_channel` whose contexts have this shape. Node's own type takes its parameters in
 * another order since Node 26, so it cannot be named in declarations that are to be read with any of them.
 */
export interface TraceChannel<Context extends object> {
  readonly start: Channel;
  readonly end: Channel;
  readonly asyncStart: Channel;
  readonly asyncEnd: Channel;
  readonly error: Channel;
  /** Whether somebody listens to any of them. */
  readonly hasSubscribers: boolean;
  /** Each function listens to the channel of its name. */
  subscribe(listeners: TraceListeners<Context>): void;
  unsubscribe(listeners: TraceListeners<Context>): void;
}

export interface TraceListeners<Context extends object> {
  start?(context: Context): void;
  end?(context: Context): void;
  asyncStart?(context: Context): void;
  asyncEnd?(context: Context): void;
  error?(context: Context & { error: unknown }): void;
}

/**
 * What takes its time and is worth a span, each as a tracing channel of `node:diagnostics_channel`: `start` when it begins,
 * `asyncEnd` when it is over, `error` before that if it failed. The same context object is told each time.
 */
export const traces = {
  campaign: channel<CampaignTrace>('campaign'),
  term: channel<TermTrace>('term'),
  handoff: channel<HandoffTrace>('handoff'),
  message: channel<MessageTrace>('message'),
};

function channel<Context extends object>(name: string): TraceChannel<Context> {
  return tracingChannel(`tenure:${name}`) as unknown as TraceChannel<Context>;
}

/** Does it, and tells so where somebody listens. What it resolves with is told to nobody: it may be anything. */
export function traced<Context extends object, Result>(
  told: TraceChannel<Context>,
  context: Context,
  work: () => Promise<Result>,
): Promise<Result> {
  return told.hasSubscribers ? tell(told, context, work) : work();
}

async function tell<Context extends object, Result>(
  told: TraceChannel<Context>,
  context: Context,
  work: () => Promise<Result>,
): Promise<Result> {
  const results: Result[] = [];
  const run = async () => void results.push(await work());
  const { tracePromise } = told as unknown as TracingChannel;
  await tracePromise.call(told, run, context);
  return results[0] as Result;
}
