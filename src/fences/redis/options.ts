import { encodeName, validateName } from '../../coordinators/index.js';
import { checkReplicas } from '../../coordinators/redis/index.js';
import {
  type Confirmation,
  type DuplicableRedisClient,
  keyPrefixOf,
  type RedisSourceOptions,
} from '../../drivers/redis/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import { checkLimit, dayMs } from '../limits.js';

export interface RedisFenceOptions extends RedisSourceOptions {
  /**
   * Fences of one namespace and hash tag on one server share their terms; those of different ones do not meet. Written like
   * a name of a lease. Default `default`.
   */
  readonly namespace?: string;
  /**
   * What stands in braces at the beginning of every key of the fence. On a cluster all that is written through the fence is
   * in the slot of this tag, so its keys begin with `{` tag `}` as well. Any text without braces, spaces and control
   * characters, up to 255 bytes. Default `tenure-fence:` and the namespace; with `leases` that of the leases,
   * `tenure:` and their namespace.
   */
  readonly hashTag?: string;
  /**
   * The coordinator keeps its leases on this same server, in the same database: then the lease itself is checked in the same
   * step as the term, by the server's clock. On a cluster the hash tag has to be that of the leases. Default: a term is
   * checked against the installed one alone.
   */
  readonly leases?: {
    /** That of the coordinator. Default `default`. */
    readonly namespace?: string;
  };
  /**
   * How many replicas must have what was written before a call resolves: 0 (the default) to 64. With fewer it rejects with
   * `OutcomeUnknownError`: it was executed, and a failover may forget it.
   */
  readonly replicas?: number;
  /** How long the replicas may take, from 1 ms to a minute; never more than half of `timeoutMs`. Default 500 ms. */
  readonly replicaTimeoutMs?: number;
  /**
   * How long a recorded effect is kept, in milliseconds by the server's clock, from a minute to a century. A message that
   * is delivered again later has its effect twice. Default: for ever, which costs memory with every message.
   */
  readonly effectLifeMs?: number;
  /** How long a call may take, in milliseconds, from 100 to a day. Afterwards its outcome is unknown. Default 5,000. */
  readonly timeoutMs?: number;
  /** How long one attempt to find the server, connect, log in and check it may take. Default 2,000 ms. */
  readonly connectTimeoutMs?: number;
  /** Clock and timers; for tests. Default: those of this process. */
  readonly runtime?: Runtime;
}

export interface ResolvedOptions {
  readonly namespace: string;
  readonly hashTag: string;
  /** The namespace of the leases on this server; `undefined`: they are elsewhere. */
  readonly leases: string | undefined;
  readonly confirmation: Confirmation | undefined;
  readonly effectLifeMs: number | undefined;
  readonly timeoutMs: number;
  readonly runtime: Runtime;
}

const minuteMs = 60 * 1000;
const centuryMs = 100 * 365 * dayMs;

const optionKeys: Known<RedisFenceOptions> = {
  namespace: true,
  hashTag: true,
  leases: true,
  replicas: true,
  replicaTimeoutMs: true,
  effectLifeMs: true,
  timeoutMs: true,
  connectTimeoutMs: true,
  runtime: true,
  sentinelUsername: true,
  sentinelPassword: true,
  nodeAddressMap: true,
};

/** @throws {OptionError} for the first that cannot be used. */
export function resolveOptions(options: RedisFenceOptions): ResolvedOptions {
  const { effectLifeMs, timeoutMs = 5_000 } = requireKnown('options', options, optionKeys);
  const namespace = validateName(options.namespace ?? 'default', 'namespace');
  const leases = leasesOf(options.leases);
  const usualTag =
    leases === undefined ? `tenure-fence:${encodeName(namespace)}` : `tenure:${encodeName(leases)}`;
  checkLimit('timeoutMs', timeoutMs);
  if (effectLifeMs !== undefined) checkLimit('effectLifeMs', effectLifeMs, centuryMs, minuteMs);
  return {
    namespace,
    // A usual one is as long as the encoded namespace makes it, and holds nothing that would have to be refused.
    hashTag: options.hashTag === undefined ? usualTag : checkHashTag(options.hashTag),
    leases,
    confirmation: checkReplicas(options),
    effectLifeMs,
    timeoutMs,
    runtime: requireRuntime(options.runtime),
  };
}

function leasesOf(leases: RedisFenceOptions['leases']): string | undefined {
  if (leases === undefined) return undefined;
  const { namespace = 'default' } = requireKnown('leases', leases, { namespace: true });
  return validateName(namespace, 'leases.namespace');
}

const longestTagBytes = 255;

function checkHashTag(hashTag: string): string {
  const isTag = typeof hashTag === 'string' && /^[^{}\s\p{Cc}\p{Cs}]+$/u.test(hashTag);
  if (isTag && Buffer.byteLength(hashTag) <= longestTagBytes) return hashTag;
  const remedy = `use 1 to ${longestTagBytes} bytes of text without braces, spaces and control characters`;
  throw new OptionError('hashTag', hashTag, 'is no hash tag', remedy);
}

/** Its user would read another key than the batch has written. @throws {OptionError} */
export function requireNoPrefix(urlOrClient: string | URL | DuplicableRedisClient): void {
  const prefix = typeof urlOrClient === 'string' ? undefined : keyPrefixOf(urlOrClient);
  if (prefix === undefined) return;
  const remedy = 'pass a URL or a client without it, and write the keys of a batch in full';
  throw new OptionError(
    'keyPrefix',
    prefix,
    'of the client is not put before the keys of a batch',
    remedy,
  );
}
