import { OutcomeUnknownError } from '../../../src/errors/index.js';
import type { StreamStore } from '../../../src/streams/contract.js';
import { altered } from '../../support/altered.js';
import { memoryOf } from './altered-store.js';
import type { WrongStore } from './wrong-store.js';

export const wrongPublishing: readonly WrongStore[] = [
  {
    flaw: 'takes the number in one step and appends in another',
    rejectedBy: 'publish/concurrent-publishers',
    wrap: (honest, state) => {
      const { lastSeqs } = memoryOf(state);
      const publish: StreamStore['publish'] = async (requests, call) => {
        const numbered = requests.map((request) => {
          const seq = (lastSeqs.get(request.key) ?? 0) + 1;
          return { ...request, seq };
        });
        const results = await honest.publish(numbered, call);
        return numbered.map(({ key, seq }, index) => {
          const result = results[index];
          if (result?.outcome === 'gap') return result;
          lastSeqs.set(key, Math.max(seq, lastSeqs.get(key) ?? 0));
          return { outcome: 'appended', seq };
        });
      };
      return altered(honest, { publish });
    },
  },
  {
    flaw: 'does not recognise a repeated id',
    rejectedBy: 'publish/repeated-id',
    wrap: (honest) => {
      let count = 0;
      const forget = (id: string) => `${id}-${count++}`;
      return altered(honest, {
        publish: (requests, call) =>
          honest.publish(
            requests.map((request) => ({ ...request, id: forget(request.id) })),
            call,
          ),
      });
    },
  },
  {
    flaw: 'recognises an id whatever its key',
    rejectedBy: 'publish/id-belongs-to-its-key',
    wrap: (honest, state) => {
      const { lastSeqs } = memoryOf(state);
      const publish: StreamStore['publish'] = async (requests, call) => {
        const fresh = requests.filter(({ id }) => !lastSeqs.has(id));
        const results = await honest.publish(fresh, call);
        for (const { id } of fresh) lastSeqs.set(id, 1);
        return requests.map((request) => {
          const index = fresh.indexOf(request);
          return results[index] ?? { outcome: 'duplicate', seq: 1 };
        });
      };
      return altered(honest, { publish });
    },
  },
  {
    flaw: 'takes a number that leaves a hole',
    rejectedBy: 'publish/own-seq',
    wrap: (honest) =>
      altered(honest, {
        publish: async (requests, call) => {
          for (const { shard, key, seq } of requests) {
            if (seq !== undefined) await honest.open(shard, key, seq - 1, 0, call);
          }
          return honest.publish(requests, call);
        },
      }),
  },
  {
    flaw: 'lets the store execute a publish that its caller gave up',
    rejectedBy: 'faults/late-publish',
    wrap: (honest, { runtime }) =>
      altered(honest, {
        publish: (requests, { timeoutMs }) =>
          new Promise((resolve, reject) => {
            const timer = runtime.setTimer(timeoutMs, () =>
              reject(new OutcomeUnknownError('publish was not answered')),
            );
            const settled = () => timer.cancel();
            honest
              .publish(requests, { timeoutMs: 1_000 * timeoutMs })
              .then(resolve, reject)
              .finally(settled);
          }),
      }),
  },
];
