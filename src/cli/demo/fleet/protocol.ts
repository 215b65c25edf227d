import { Holder } from '../../../coordinators/index.js';
import { StaleTermError } from '../../../errors/index.js';
import type { FencingToken } from '../../../fences/index.js';
import type { News } from '../news.js';
import type { Answer, RemoteSink } from '../sink.js';

/** What a worker process is told first. The URLs travel this way so that no process list shows them. */
export interface WorkerSettings {
  readonly id: string;
  readonly url: string;
  readonly namespace: string;
  /** `undefined`: the parent keeps the sink, ask it. */
  readonly sink: RemoteSink | undefined;
}

export type ToChild =
  | { readonly type: 'join'; readonly settings: WorkerSettings }
  | { readonly type: 'report' }
  | { readonly type: 'leave' }
  /** A frozen colleague cannot notice that the parent has ended: then whoever can wakes it. `undefined`: nobody is. */
  | { readonly type: 'frozen'; readonly pid: number | undefined }
  | ({ readonly type: 'sink' } & SinkReply);

export type ToParent =
  | { readonly type: 'joined' }
  | { readonly type: 'failed'; readonly words: string }
  | { readonly type: 'held'; readonly shards: readonly number[] }
  | { readonly type: 'news'; readonly news: News }
  | ({ readonly type: 'sink' } & SinkRequest);

/** A request to the sink in the parent; without an answer to keep it is a claim. */
export interface SinkRequest {
  readonly call: number;
  readonly token: WireToken;
  readonly effect: { readonly id: string; readonly answer: Answer } | undefined;
}

export interface SinkReply {
  readonly call: number;
  readonly outcome: 'claimed' | 'written' | 'repeated' | 'stale' | 'failed';
  readonly stale?: Pick<StaleTermError, 'resource' | 'term' | 'installedTerm'>;
  readonly words?: string;
}

interface WireToken {
  readonly name: string;
  readonly term: number;
  readonly holder: string;
}

export function toWire({ name, term, holder }: FencingToken): WireToken {
  return { name, term, holder: holder.wire };
}

export function fromWire({ name, term, holder }: WireToken): FencingToken {
  const parsed = Holder.parse(holder);
  if (parsed === undefined) throw new Error('a worker process sent a token that is none');
  return { name, term, holder: parsed };
}

/** What becomes of a sink's error on its way to a worker process. */
export function replyOf(call: number, error: unknown): SinkReply {
  if (error instanceof StaleTermError) {
    const { resource, term, installedTerm } = error;
    return { call, outcome: 'stale', stale: { resource, term, installedTerm } };
  }
  return { call, outcome: 'failed', words: String(error) };
}

/** And on its arrival. */
export function errorOf({ stale, words }: SinkReply): Error {
  if (stale === undefined) return new Error(words);
  return new StaleTermError(stale.resource, stale.term, stale.installedTerm);
}
