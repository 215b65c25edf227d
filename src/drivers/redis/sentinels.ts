import { kindTold } from '../../errors/error-kind.js';
import { StoreMisconfiguredError, StoreRefusedError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import { type Endpoint, endpointText } from '../endpoint.js';
import { type Answers, askAll } from './asking.js';
import type { RedisNode, RedisSource, Search } from './client.js';
import { type NodeAddressMap, translated } from './endpoint.js';
import { replyCode } from './errors.js';
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

/** Whom most name may be none any more, and be named by the others: these get so long to say so. */
const graceMs = 50;

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
  /** They have named it: whatever they say later may be over in a moment. */
  #hasFound = false;

  constructor(parts: SentinelParts) {
    this.#parts = parts;
    const hosts = parts.sentinels.map(endpointText).join(',');
    this.address = `${parts.isTls ? 'rediss' : 'redis'}+sentinel://${hosts}/${encodeURIComponent(parts.masterName)}`;
  }

  async locate(search: Search): Promise<readonly RedisNode[]> {
    const { sentinels, sentinelAt, nodeAt, addressMap } = this.#parts;
    const ask = (link: Link, deadlineMs: number) => this.#masterBy(link, deadlineMs);
    const answers = await askAll(sentinels.map(sentinelAt), ask, search, graceMs);
    if (answers.endpoints.length === 0) throw this.#notFound(answers);
    this.#hasFound = true;
    return answers.endpoints.map((endpoint) => nodeAt(translated(endpoint, addressMap)));
  }

  async #masterBy(link: Link, deadlineMs: number): Promise<Endpoint | undefined> {
    const question = ['get-master-addr-by-name', this.#parts.masterName];
    const reply = await link
      .call('sentinel', question, 'the question for the master', deadlineMs)
      .catch((error) => {
        throw strangerOr(error, link.address);
      });
    const [host, port] = Array.isArray(reply) ? (reply as unknown[]) : [];
    const number = Number(port);
    return typeof host === 'string' && number > 0 ? { host, port: number } : undefined;
  }

  /** What most say is so. What a few say, while the others are away, may be about these few, and may pass. */
  #notFound({ unknownCount, failures }: Answers): Error {
    const { masterName, sentinels } = this.#parts;
    const { address } = this;
    const strangers = failures.filter((failure) => failure instanceof NoSentinelError);
    const denied = failures.filter((failure) => failure instanceof StoreMisconfiguredError);
    const kinds = [
      {
        count: unknownCount,
        says: `the sentinels at ${address} know no master "${masterName}": use the name that their configuration gives it (SENTINEL MASTERS lists them).`,
      },
      {
        count: strangers.length,
        says: `what answers at ${address} is no Sentinel: it does not know the question for the master. Name the sentinels (usually port 26379), or use a redis:// URL for a server without them.`,
      },
      {
        count: denied.length,
        says: `the sentinels at ${address} turned us away: ${denied[0]?.message} Their user and password are the options sentinelUsername and sentinelPassword; that of the URL is for the Redis servers.`,
      },
    ];
    const ofMost = kinds.find(({ count }) => 2 * count > sentinels.length);
    if (ofMost !== undefined && !this.#hasFound) return new StoreMisconfiguredError(ofMost.says);
    const last = failures.at(-1);
    const ofSome = kinds
      .filter(({ count }) => count > 0)
      .map(({ count, says }) => ` By ${count} of ${sentinels.length}, ${says}`);
    return unreachable(
      kindTold(last) ?? (unknownCount > 0 ? 'replica' : 'timeout'),
      `no sentinel of ${address} could be asked for the master: ${last?.message ?? 'none answered in time.'}${ofSome.join('')}`,
      last,
    );
  }
}

/** A server that is none answers in words of its own; any other refusal may be over in a moment. */
class NoSentinelError extends StoreRefusedError {}

function strangerOr(error: Error, address: string): Error {
  if (replyCode(error) !== 'ERR' || !/unknown command/i.test(error.message)) return error;
  return new NoSentinelError('ERR', `${address} does not know the command SENTINEL.`, error);
}
