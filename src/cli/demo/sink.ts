import type { FencingToken } from '../../fences/index.js';

/** One answered message, as the shop's database keeps it. */
export interface Answer {
  /** Number of the message within the run, given by the gateway. */
  readonly number: number;
  readonly customer: string;
  /** Number of the message within its customer's conversation, given by the log. */
  readonly seq: number;
  readonly text: string;
  readonly reply: string;
  readonly worker: string;
  readonly shard: number;
  readonly term: number;
  /** Unix time by the workers' clock, which is one for all of them here. */
  readonly begunAtMs: number;
  readonly finishedAtMs: number;
}

/** Where answers take effect, as a worker sees it: a resource behind a fence. */
export interface WorkerSink {
  /** Installs the term, so that nobody with an older one writes any more. @throws {StaleTermError} */
  claim(token: FencingToken): Promise<void>;
  /**
   * Keeps the answer to message `id`, in the transaction that compares the term. `repeated` if this message has its answer already.
   *
   * @throws {StaleTermError} with nothing kept.
   */
  write(token: FencingToken, id: string, answer: Answer): Promise<'written' | 'repeated'>;
  close(): Promise<void>;
}

/** The same resource, as its owner and judge sees it. */
export interface Sink extends WorkerSink {
  /** For people: never with a password. */
  readonly address: string;
  /** How another process reaches it by itself; `undefined` if only this one can. */
  readonly remote: RemoteSink | undefined;
  /** Everything that is kept, in the order in which it was. */
  answers(): Promise<Answer[]>;
  /** Takes away what was created for this run, and closes. */
  remove(): Promise<void>;
}

export interface RemoteSink {
  readonly url: string;
  readonly schema: string;
}

/** Under this scope the fence remembers which messages have had their effect. */
export const effectScope = 'chat';
