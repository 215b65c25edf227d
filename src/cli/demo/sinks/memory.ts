import { memoryFence } from '../../../fences/memory/index.js';
import { type Answer, effectScope, type Sink } from '../sink.js';

/** The shop's database in this process: a transactional map behind a fence. */
export function memorySink(): Sink {
  const fence = memoryFence();
  const { resource } = fence;
  /** Keys of the resource, in the order of their commits. */
  const order: string[] = [];
  return {
    address: 'memory:',
    remote: undefined,
    claim: (token) => fence.claim(token),
    async write(token, id, answer) {
      const key = `answer ${answer.number}`;
      const outcome = await fence.transaction(token, async (transaction) => {
        const { customer, seq } = answer;
        if (!(await fence.recordOnce(transaction, effectScope, customer, seq, id)))
          return 'repeated';
        // A table would have a unique index for this; the record above should have made it idle.
        if (transaction.get(key) !== undefined) throw new Error(`${key} was written before`);
        transaction.set(key, answer);
        return 'written';
      });
      if (outcome === 'written') order.push(key);
      return outcome;
    },
    answers: async () => order.map((key) => resource.read(key) as Answer),
    remove: () => fence.close(),
    close: () => fence.close(),
  };
}
