import {
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../errors/index.js';
import { type Endpoint, endpointText } from '../endpoint.js';
import { type Answers, askAll } from './asking.js';
import type { RedisNode, RedisSource, Search } from './client.js';
import { type NodeAddressMap, translated } from './endpoint.js';
import type { Link } from './link.js';

export interface SentinelParts {
  readonly sentinels: readonly Endpoint[];
  readonly masterName: string;
  readonly isTls?: boolean;
  /** Translates the addresses that sentinels tell. */
  readonly addressMap: NodeAddressMap;
  sentinelAt(endpoint: Endpoint): RedisNode;
  nodeAt(endpoint: Endpoint): RedisNode;
}

/**
 * A master that is watched by sentinels.
 *
 * All sentinels are asked each time. If they disagree, the answer of the most is tried first, and then the others: it is
 * the node's own word that counts, and one that is a replica by now says so.
 */
export class SentinelSource implements RedisSource {
  readonly topology = 'sentinel';
  readonly address: string;
  readonly #parts: SentinelParts;

  constructor(parts: SentinelParts) {
    this.#parts = parts;
    const hosts = parts.sentinels.map(endpointText).join(',');
    this.address = `${parts.isTls ? 'rediss' : 'redis'}+sentinel://${hosts}/${encodeURIComponent(parts.masterName)}`;
  }

  async locate(search: Search): Promise<readonly RedisNode[]> {
    const { sentinels, sentinelAt, nodeAt, addressMap } = this.#parts;
    const ask = (link: Link, deadlineMs: number) => this.#masterBy(link, deadlineMs);
    const answers = await askAll(sentinels.map(sentinelAt), ask, search);
    if (answers.endpoints.length === 0) throw this.#notFound(answers);
    return answers.endpoints.map((endpoint) => nodeAt(translated(endpoint, addressMap)));
  }

  async #masterBy(link: Link, deadlineMs: number): Promise<Endpoint | undefined> {
    const question = ['get-master-addr-by-name', this.#parts.masterName];
    const reply = await link.call('sentinel', question, 'the question for the master', deadlineMs);
    const [host, port] = Array.isArray(reply) ? (reply as unknown[]) : [];
    const number = Number(port);
    return typeof host === 'string' && number > 0 ? { host, port: number } : undefined;
  }

  #notFound({ unknownCount, failures }: Answers): Error {
    const { masterName } = this.#parts;
    if (unknownCount > 0)
      return new StoreMisconfiguredError(
        `the sentinels at ${this.address} know no master "${masterName}": use the name that their configuration gives it (SENTINEL MASTERS lists them).`,
      );
    const stranger = failures.find(
      (failure) => failure instanceof StoreRefusedError && failure.storeCode === 'ERR',
    );
    if (stranger !== undefined)
      return new StoreMisconfiguredError(
        `what answers at ${this.address} is no Sentinel: it does not know the question for the master. Name the sentinels (usually port 26379), or use a redis:// URL for a server without them.`,
      );
    const denied = failures.find((failure) => failure instanceof StoreMisconfiguredError);
    if (denied !== undefined)
      return new StoreMisconfiguredError(
        `the sentinels at ${this.address} turned us away: ${denied.message} Their user and password are the options sentinelUsername and sentinelPassword; that of the URL is for the Redis servers.`,
      );
    return new UnreachableError(
      `no sentinel of ${this.address} could be asked for the master: ${failures.at(-1)?.message ?? 'none answered in time'}`,
      failures.at(-1),
    );
  }
}
