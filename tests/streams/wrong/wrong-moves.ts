import type { StreamStore } from '../../../src/streams/contract.js';
import { altered } from '../../support/altered.js';
import { memoryOf, type SharedMemory } from './altered-store.js';
import type { WrongStore } from './wrong-store.js';

/** The highest version a key was given, so that none is ever too low. */
function highest({ versions }: SharedMemory, shard: number, key: string, version: number): number {
  const name = `${shard} ${key}`;
  versions.set(name, Math.max(version, versions.get(name) ?? 0));
  return versions.get(name) ?? version;
}

export const wrongMoves: readonly WrongStore[] = [
  {
    flaw: 'seals for a mover that was overtaken',
    rejectedBy: 'moving/late-seal',
    wrap: (honest, state) => {
      const memory = memoryOf(state);
      const seal: StreamStore['seal'] = (shard, key, version, call) =>
        honest.seal(shard, key, highest(memory, shard, key, version), call);
      const open: StreamStore['open'] = (shard, key, lastSeq, version, call) => {
        highest(memory, shard, key, version);
        return honest.open(shard, key, lastSeq, version, call);
      };
      return altered(honest, { seal, open });
    },
  },
  {
    flaw: 'opens for a mover that was overtaken',
    rejectedBy: 'moving/late-open',
    wrap: (honest, state) => {
      const memory = memoryOf(state);
      const seal: StreamStore['seal'] = (shard, key, version, call) => {
        highest(memory, shard, key, version);
        return honest.seal(shard, key, version, call);
      };
      const open: StreamStore['open'] = (shard, key, lastSeq, version, call) =>
        honest.open(shard, key, lastSeq, highest(memory, shard, key, version), call);
      return altered(honest, { seal, open });
    },
  },
  {
    flaw: 'agrees with every shard count',
    rejectedBy: 'topic/shard-count',
    wrap: (honest) => altered(honest, { describeTopic: async () => ({ outcome: 'agreed' }) }),
  },
  {
    flaw: 'lets one foreign log speak for all that are read with it',
    rejectedBy: 'foreign/entry-stops-its-own-shard',
    wrap: (honest) => {
      const step: StreamStore['step'] = async (requests, call) => {
        const results = await honest.step(requests, call);
        const corrupt = results.find(({ outcome }) => outcome === 'corrupt');
        return corrupt === undefined ? results : results.map(() => corrupt);
      };
      return altered(honest, { step });
    },
  },
  {
    flaw: 'lets one foreign log speak for all that is published with it',
    rejectedBy: 'foreign/state-stops-its-own-shard',
    wrap: (honest) => {
      const publish: StreamStore['publish'] = async (requests, call) => {
        const results = await honest.publish(requests, call);
        const corrupt = results.find(({ outcome }) => outcome === 'corrupt');
        return corrupt === undefined ? results : results.map(() => corrupt);
      };
      return altered(honest, { publish });
    },
  },
];
