import type { StreamStore } from '../../../src/streams/contract.js';
import { altered } from '../../support/altered.js';
import { memoryOf, rememberingInstall } from './altered-store.js';
import type { WrongStore } from './wrong-store.js';

export const wrongLog: readonly WrongStore[] = [
  {
    flaw: 'takes an acknowledgement for everything before it as well',
    rejectedBy: 'log/acknowledge-exactly',
    wrap: (honest) => {
      const step: StreamStore['step'] = async (requests, call) => {
        const wider = requests.map(async (request) => {
          const head = { ...request, acknowledge: [], after: undefined, limit: 1_000 };
          const [result] = await honest.step([head], call);
          const messages = result?.outcome === 'ok' ? result.messages : [];
          const positions = messages.map(({ position }) => position);
          const last = Math.max(...request.acknowledge.map((each) => positions.indexOf(each)));
          return { ...request, acknowledge: positions.slice(0, last + 1) };
        });
        return honest.step(await Promise.all(wider), call);
      };
      return altered(honest, { step });
    },
  },
  {
    flaw: 'reads before it acknowledges',
    rejectedBy: 'log/acknowledge-before-reading',
    wrap: (honest) =>
      altered(honest, {
        step: async (requests, call) => {
          const read = await honest.step(
            requests.map((request) => ({ ...request, acknowledge: [] })),
            call,
          );
          await honest.step(
            requests.map((request) => ({ ...request, limit: 0 })),
            call,
          );
          return read;
        },
      }),
  },
  {
    flaw: 'waits for messages by taking them, as a blocked group read does',
    rejectedBy: 'bell/claims-nothing',
    wrap: (honest, state) => {
      const memory = memoryOf(state);
      const watch: StreamStore['watch'] = (wake) =>
        honest.watch((shard) => {
          const token = memory.owners.get(shard ?? -1);
          // The watcher is frozen: what it took nobody gets.
          if (shard !== undefined && token !== undefined)
            state.log(shard).step({ shard, token, acknowledge: ['1'], after: undefined, limit: 0 });
          wake(shard);
        });
      return altered(honest, { watch, install: rememberingInstall(honest, memory) });
    },
  },
  {
    flaw: 'rings only for the first message a shard ever gets',
    rejectedBy: 'bell/rings-when-no-longer-empty',
    wrap: (honest) => {
      const rung = new Set<number | undefined>();
      return altered(honest, {
        watch: (wake) =>
          honest.watch((shard) => {
            if (!rung.has(shard)) wake(shard);
            rung.add(shard);
          }),
      });
    },
  },
  {
    flaw: 'takes a key for drained once its last message is gone',
    rejectedBy: 'moving/drained',
    wrap: (honest) => {
      const gone = new Set<string>();
      return altered(honest, {
        step: (requests, call) => {
          for (const { acknowledge } of requests) for (const each of acknowledge) gone.add(each);
          return honest.step(requests, call);
        },
        seal: async (shard, key, version, call) => {
          const result = await honest.seal(shard, key, version, call);
          if (result.outcome !== 'sealed') return result;
          return { ...result, drained: result.drained || gone.size > 0 };
        },
      });
    },
  },
];
