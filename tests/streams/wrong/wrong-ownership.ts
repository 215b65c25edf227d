import type { StepResult, StreamStore } from '../../../src/streams/contract.js';
import { altered } from '../../support/altered.js';
import { memoryOf, rememberingInstall } from './altered-store.js';
import type { WrongStore } from './wrong-store.js';

export const wrongOwnership: readonly WrongStore[] = [
  {
    flaw: 'compares the term when it acknowledges, but not when it reads',
    rejectedBy: 'ownership/stale-reads-nothing',
    wrap: (honest, state) => {
      const memory = memoryOf(state);
      const step: StreamStore['step'] = async (requests, call) => {
        const results = await honest.step(requests, call);
        return Promise.all(
          results.map(async (result, index): Promise<StepResult> => {
            const request = requests[index];
            const token = memory.owners.get(request?.shard ?? -1);
            if (result.outcome === 'ok' || !request || !token) return result;
            const [read] = await honest.step([{ ...request, token, acknowledge: [] }], call);
            return read ?? result;
          }),
        );
      };
      return altered(honest, { step, install: rememberingInstall(honest, memory) });
    },
  },
  {
    flaw: 'compares the term when it reads, but not when it acknowledges',
    rejectedBy: 'ownership/stale-removes-nothing',
    wrap: (honest, state) => {
      const memory = memoryOf(state);
      const step: StreamStore['step'] = async (requests, call) => {
        for (const request of requests) {
          const token = memory.owners.get(request.shard);
          if (token) await honest.step([{ ...request, token, limit: 0 }], call);
        }
        return honest.step(requests, call);
      };
      return altered(honest, { step, install: rememberingInstall(honest, memory) });
    },
  },
  {
    flaw: 'accepts an equal term from another holder',
    rejectedBy: 'ownership/equal-term',
    wrap: (honest, state) => {
      const memory = memoryOf(state);
      const remember = rememberingInstall(honest, memory);
      const install: StreamStore['install'] = async (requests, call) => {
        const results = await remember(requests, call);
        return results.map((result, index) => {
          const isEqual =
            result.outcome === 'stale' && result.installedTerm === requests[index]?.token.term;
          return isEqual ? { outcome: 'installed' } : result;
        });
      };
      return altered(honest, { install });
    },
  },
  {
    flaw: 'installs a higher term by the way, at its first step',
    rejectedBy: 'ownership/step-needs-an-install',
    wrap: (honest) =>
      altered(honest, {
        step: async (requests, call) => {
          await honest.install(
            requests.map(({ shard, token }) => ({ shard, token })),
            call,
          );
          return honest.step(requests, call);
        },
      }),
  },
  {
    flaw: 'removes messages as it hands them out',
    rejectedBy: 'ownership/predecessor-first',
    wrap: (honest) =>
      altered(honest, {
        step: async (requests, call) => {
          const results = await honest.step(requests, call);
          const taken = requests.map((request, index) => {
            const result = results[index];
            const messages = result?.outcome === 'ok' ? result.messages : [];
            return { ...request, acknowledge: messages.map(({ position }) => position), limit: 0 };
          });
          await honest.step(taken, call);
          return results;
        },
      }),
  },
  {
    flaw: 'hands out what is new before what a predecessor had in flight',
    rejectedBy: 'ownership/predecessor-first',
    wrap: (honest, state) => {
      const { delivered } = memoryOf(state);
      const step: StreamStore['step'] = async (requests, call) => {
        const moved = requests.map((request) => ({
          ...request,
          after: request.after ?? delivered.get(request.shard),
        }));
        const results = await honest.step(moved, call);
        for (const [index, { shard }] of requests.entries()) {
          const result = results[index];
          const last = result?.outcome === 'ok' ? result.messages.at(-1) : undefined;
          if (last !== undefined) delivered.set(shard, last.position);
        }
        return results;
      };
      return altered(honest, { step });
    },
  },
];
