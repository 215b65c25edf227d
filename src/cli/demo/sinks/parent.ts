import { errorOf, type SinkReply, type SinkRequest, toWire } from '../fleet/protocol.js';
import type { WorkerSink } from '../sink.js';

export interface ParentSink extends WorkerSink {
  /** A reply has arrived. */
  settle(reply: SinkReply): void;
}

/** A sink that lives in the parent process: a resource of its own, reached by messages like any other. */
export function parentSink(send: (request: SinkRequest) => void): ParentSink {
  const waiting = new Map<number, (reply: SinkReply) => void>();
  let call = 0;
  const ask = (request: Omit<SinkRequest, 'call'>): Promise<SinkReply> => {
    call += 1;
    const reply = new Promise<SinkReply>((resolve) => waiting.set(call, resolve));
    send({ call, ...request });
    return reply;
  };
  return {
    async claim(token) {
      const reply = await ask({ token: toWire(token), effect: undefined });
      if (reply.outcome !== 'claimed') throw errorOf(reply);
    },
    async write(token, id, answer) {
      const reply = await ask({ token: toWire(token), effect: { id, answer } });
      if (reply.outcome === 'written' || reply.outcome === 'repeated') return reply.outcome;
      throw errorOf(reply);
    },
    settle(reply) {
      waiting.get(reply.call)?.(reply);
      waiting.delete(reply.call);
    },
    async close() {},
  };
}
