import { kindTold } from '../../errors/error-kind.js';
import { StoreMisconfiguredError, StoreRefusedError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import { type Endpoint, endpointText } from '../endpoint.js';
import { askAll } from './asking.js';
import type { RedisNode, RedisSource, Search } from './client.js';
import { type NodeAddressMap, translated } from './endpoint.js';
import { slotOf } from './slot.js';

export interface ClusterParts {
  /** Some of its nodes; the others are learned from them. */
  readonly seeds: readonly Endpoint[];
  readonly isTls?: boolean;
  /** Translates the addresses that nodes tell. */
  readonly addressMap: NodeAddressMap;
  nodeAt(endpoint: Endpoint): RedisNode;
}

/** How many nodes are asked at once: enough for a majority that does not hang on one of them. */
const askedCount = 3;

/**
 * The node of a Redis Cluster that owns the slot of a key.
 *
 * Who owns it, several nodes are asked each time; a node that has been told otherwise since then answers the first
 * command with MOVED, and is believed.
 */
export class ClusterSource implements RedisSource {
  readonly topology = 'cluster';
  readonly address: string;
  readonly #parts: ClusterParts;
  /** What is asked next: the masters that were last heard of, and then the seeds. */
  #known: readonly Endpoint[];

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.#known = parts.seeds;
    this.address = `${parts.isTls ? 'rediss' : 'redis'}+cluster://${parts.seeds.map(endpointText).join(',')}`;
  }

  async locate(search: Search): Promise<readonly RedisNode[]> {
    const { nodeAt, addressMap } = this.#parts;
    if (search.movedTo !== undefined) return [nodeAt(translated(search.movedTo, addressMap))];
    const slot = slotOf(search.slotKey);
    const asked = this.#known.slice(0, askedCount).map((endpoint) => {
      const here = translated(endpoint, addressMap);
      return { ...nodeAt(here), endpoint };
    });
    const masters = new Map<string, Endpoint>();
    let hasAnswered = false;
    const { endpoints, failures } = await askAll(
      asked,
      async (link, deadlineMs) => {
        const host = asked.find(({ address }) => address === link.address)?.endpoint.host ?? '';
        const reply = await link.call('cluster', ['slots'], 'CLUSTER SLOTS', deadlineMs);
        const ranges = slotRanges(reply, host);
        hasAnswered = true;
        for (const { master } of ranges) masters.set(endpointText(master), master);
        return ranges.find(({ first, last }) => first <= slot && slot <= last)?.master;
      },
      search,
    );
    this.#remember([...masters.values()]);
    if (endpoints.length > 0)
      return endpoints.map((endpoint) => nodeAt(translated(endpoint, addressMap)));
    const denied = failures.find(
      (failure) =>
        failure instanceof StoreMisconfiguredError ||
        (failure instanceof StoreRefusedError && failure.storeCode === 'ERR'),
    );
    if (denied !== undefined && !hasAnswered)
      throw new StoreMisconfiguredError(
        `the nodes of ${this.address} did not say who owns slot ${slot}: ${denied.message} Is it a cluster, and may the user ask CLUSTER SLOTS?`,
      );
    const last = failures.at(-1);
    throw unreachable(
      kindTold(last) ?? (hasAnswered ? 'unreachable' : 'timeout'),
      hasAnswered
        ? `no node of ${this.address} owns slot ${slot}, where the keys of this namespace are. Bring the cluster back to covering all slots.`
        : `no node of ${this.address} could be asked who owns slot ${slot}: ${last?.message ?? 'none answered in time'}`,
      last,
    );
  }

  #remember(masters: readonly Endpoint[]): void {
    const all = [...masters, ...this.#parts.seeds];
    const isFirst = (endpoint: Endpoint, index: number) =>
      all.findIndex((other) => endpointText(other) === endpointText(endpoint)) === index;
    this.#known = all.filter(isFirst);
  }
}

interface SlotRange {
  readonly first: number;
  readonly last: number;
  readonly master: Endpoint;
  /** A server has one, by whatever addresses it is reached. */
  readonly masterId: string | undefined;
}

/**
 * Reads the reply of CLUSTER SLOTS.
 *
 * @param askedHost what a node means that leaves out a host: the one it was reached by.
 */
export function slotRanges(reply: unknown, askedHost: string): readonly SlotRange[] {
  type Range = readonly [first: unknown, last: unknown, master?: readonly unknown[]];
  return (Array.isArray(reply) ? (reply as Range[]) : []).flatMap(([first, last, master]) => {
    const [told, port, id] = master ?? [];
    const host = typeof told === 'string' && told !== '' && told !== '?' ? told : askedHost;
    if (!(Number(port) > 0)) return [];
    return [
      {
        ...{ first: Number(first), last: Number(last), master: { host, port: Number(port) } },
        masterId: typeof id === 'string' ? id : undefined,
      },
    ];
  });
}

/** Where `MOVED 3999 127.0.0.1:6381` sends us; `undefined` if it does not say, as a node that knows no host of the other. */
export function movedTo(reply: string): Endpoint | undefined {
  const [, host, port] = /^MOVED \d+ ([^\s?]+):(\d+)/.exec(reply) ?? [];
  return host === undefined ? undefined : { host, port: Number(port) };
}
