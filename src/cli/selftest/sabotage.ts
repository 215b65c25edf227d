import type { AcquireRequest, Coordinator } from '../../coordinators/index.js';
import { OptionError } from '../../errors/index.js';
import type { FencingToken } from '../../fences/index.js';
import type { MemoryFence } from '../../fences/memory/index.js';
import type { StreamStore } from '../../streams/contract.js';
import type { MessageHandler } from '../../streams/worker/index.js';
import { override } from '../override.js';

/**
 * Deliberate faults, to see that the checks notice. Each takes one layer away from the workers by a wrapper around it;
 * the library itself is not touched.
 */
export interface Sabotage {
  readonly name: SabotageName;
  /** What it takes away. */
  readonly effect: string;
  coordinator?(inner: Coordinator): Coordinator;
  streams?(inner: StreamStore): StreamStore;
  fence?(inner: MemoryFence): MemoryFence;
  handler?<Payload>(inner: MessageHandler<Payload>): MessageHandler<Payload>;
}

export const sabotageNames = [
  'hash-by-length',
  'no-nx',
  'blind-renewal',
  'parallel',
  'no-fence',
] as const;
export type SabotageName = (typeof sabotageNames)[number];

const shardCount = 256;

const sabotages: Record<SabotageName, Sabotage> = {
  'hash-by-length': {
    name: 'hash-by-length',
    effect: 'messages go to the shard that the length of their key says',
    streams: (inner) =>
      override(inner, {
        publish: (requests, call) =>
          inner.publish(
            requests.map((request) => ({ ...request, shard: request.key.length % shardCount })),
            call,
          ),
      }),
  },
  'no-nx': {
    name: 'no-nx',
    effect: 'acquiring takes a name over although somebody holds it',
    coordinator: (inner) =>
      override(inner, {
        async acquire(requests, call) {
          const results = await inner.acquire(requests, call);
          const held = results.flatMap((result) =>
            result.outcome === 'held' && result.current.state === 'held' ? [result.current] : [],
          );
          if (held.length === 0) return results;
          await inner.release(held, call);
          const names = new Set(held.map(({ name }) => name));
          return mergeByName(requests, results, names, (again) => inner.acquire(again, call));
        },
      }),
  },
  'blind-renewal': {
    name: 'blind-renewal',
    effect: 'a renewal counts as granted whatever the store says',
    coordinator: (inner) =>
      override(inner, {
        async renew(requests, call) {
          const results = await inner.renew(requests, call);
          return results.map(() => ({ outcome: 'renewed' }));
        },
      }),
  },
  parallel: {
    name: 'parallel',
    effect: 'the next message of a shard begins before the last one has ended',
    handler: (inner) => (message, context) => {
      void Promise.resolve(inner(message, context)).catch(() => {});
    },
  },
  'no-fence': {
    name: 'no-fence',
    effect: 'writes pass the fence unchecked',
    fence: (inner) => {
      let count = 0;
      // A name that nobody has ever written under guards nothing: whoever comes first is current.
      const unguarded = ({ name, term, holder }: FencingToken) => ({
        name: `${name}/unguarded-${++count}`,
        term,
        holder,
      });
      return override(inner, {
        transaction: (token, work) => inner.transaction(unguarded(token), work),
      });
    },
  },
};

/** @throws {OptionError} for an unknown name, listing the known ones. */
export function parseSabotage(name: string | undefined): Sabotage[] {
  if (name === undefined) return [];
  if (name === 'all') return Object.values(sabotages);
  const known = sabotageNames.find((candidate) => candidate === name);
  if (known !== undefined) return [sabotages[known]];
  const remedy = `use ${sabotageNames.join(', ')} or all`;
  throw new OptionError('--sabotage', name, 'is no known sabotage', remedy);
}

/** The results, with those of `names` replaced by the answers to asking for them again. */
async function mergeByName<Result>(
  requests: readonly AcquireRequest[],
  results: readonly Result[],
  names: ReadonlySet<string>,
  ask: (requests: readonly AcquireRequest[]) => Promise<Result[]>,
): Promise<Result[]> {
  const again = requests.filter(({ name }) => names.has(name));
  const answers = await ask(again);
  const byName = new Map(again.map(({ name }, index) => [name, answers[index]]));
  return results.map((result, index) => byName.get(requests[index]?.name ?? '') ?? result);
}
