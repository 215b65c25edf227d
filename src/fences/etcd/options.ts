import { checkPrefix, EtcdKeys, type EtcdTlsOptions } from '../../coordinators/etcd/index.js';
import { validateName } from '../../coordinators/index.js';
import { requireKnown } from '../../errors/checks.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import { checkLimit } from '../limits.js';
import { FenceKeys } from './keys.js';

export interface EtcdFenceOptions {
  /**
   * Fences of one namespace and prefix on one cluster share their terms; those of different ones do not meet. Written like a
   * name of a lease. Default `default`.
   */
  readonly namespace?: string;
  /**
   * Stands before every key of the fence, for a user that may use one part of the key space alone: a slash and at most 1 KiB in all, without
   * a colon. It does not stand before the keys that are written through the fence. Default empty.
   */
  readonly prefix?: string;
  /**
   * The coordinator keeps its leases in this same cluster: then every write also holds only while the key of the lease is as
   * it was read, in the same transaction. Default: a term is checked against the installed one alone.
   */
  readonly leases?: {
    /** That of the coordinator. Default `default`. */
    readonly namespace?: string;
    /** That of the coordinator. Default empty. */
    readonly prefix?: string;
  };
  /** How long a question or a write may take, in milliseconds, from 100 to a day. Default 5,000. */
  readonly timeoutMs?: number;
  /** Speak TLS, and with which certificates. Default: as the URL says. */
  readonly tls?: EtcdTlsOptions;
  /** Clocks and timers; for tests. Default: those of this process. */
  readonly runtime?: Runtime;
}

export interface ResolvedOptions {
  readonly keys: FenceKeys;
  /** `undefined`: the leases are elsewhere. */
  readonly leases: EtcdKeys | undefined;
  readonly timeoutMs: number;
  readonly runtime: Runtime;
}

/** @throws {OptionError} for the first that cannot be used. */
export function resolveOptions(options: EtcdFenceOptions): ResolvedOptions {
  const { namespace = 'default', prefix = '', timeoutMs = 5_000 } = options;
  validateName(namespace, 'namespace');
  checkPrefix(prefix);
  checkLimit('timeoutMs', timeoutMs);
  return {
    keys: new FenceKeys(prefix, namespace),
    leases: leasesOf(options.leases),
    timeoutMs,
    runtime: requireRuntime(options.runtime),
  };
}

function leasesOf(leases: EtcdFenceOptions['leases']): EtcdKeys | undefined {
  if (leases === undefined) return undefined;
  const known = { namespace: true, prefix: true } as const;
  const { namespace = 'default', prefix = '' } = requireKnown('leases', leases, known);
  checkPrefix(prefix, 'leases.prefix');
  return new EtcdKeys(prefix, validateName(namespace, 'leases.namespace'));
}
