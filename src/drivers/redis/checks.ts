import { StoreMisconfiguredError } from '../../errors/index.js';
import { ofKind } from '../../errors/kinds.js';

/** What a server says about itself, as far as tenure's promises depend on it. */
export interface RedisFacts {
  readonly version: string;
  /** New at every start of the server, so it tells whether two addresses lead to one server. */
  readonly runId: string;
  readonly role: string;
  /** `sentinel` for one that keeps no data. */
  readonly mode: string;
  /** 0: without limit. */
  readonly maxmemoryBytes: number;
  readonly maxmemoryPolicy: string;
  /**
   * Whether an append-only file is kept; how often it reaches the disk, INFO does not say. `undefined` if it does not
   * say that either.
   */
  readonly appendOnlyFile: boolean | undefined;
  /** Whether the last write to that file and the last snapshot went well. */
  readonly persistenceHealthy: boolean;
}

/** Only 7.0.15 has been run; below 7.0 scripts report errors in another form and PEXPIRE has no GT. */
const smallestMajorVersion = 7;

/** Reads the reply of `INFO`. */
export function parseFacts(info: string): RedisFacts {
  const fields = new Map<string, string>();
  for (const line of info.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  const field = (name: string): string => fields.get(name) ?? '';
  return {
    version: field('redis_version'),
    runId: field('run_id'),
    role: field('role'),
    mode: field('redis_mode'),
    maxmemoryBytes: Number(field('maxmemory') || 0),
    maxmemoryPolicy: field('maxmemory_policy'),
    appendOnlyFile: fields.has('aof_enabled') ? field('aof_enabled') === '1' : undefined,
    persistenceHealthy:
      field('aof_last_write_status') !== 'err' && field('rdb_last_bgsave_status') !== 'err',
  };
}

/**
 * Refuses a server on which no lease could be trusted.
 *
 * A field that is missing (some services hide them) proves nothing and is passed over.
 *
 * @throws {StoreMisconfiguredError} naming the setting, its value and the remedy.
 */
export function assertUsable(facts: RedisFacts, address: string): void {
  assertKeepsData(facts, address);
  const major = Number.parseInt(facts.version, 10);
  if (major < smallestMajorVersion) {
    throw new StoreMisconfiguredError(
      `${address} runs Redis ${facts.version}: use ${smallestMajorVersion}.0 or later.`,
    );
  }
  if (facts.role !== '' && facts.role !== 'master') {
    throw ofKind(
      'replica',
      new StoreMisconfiguredError(
        `${address} is a replica (role:${facts.role}), which forgets or invents leases: point the URL at the master.`,
      ),
    );
  }
  const evicts = facts.maxmemoryPolicy !== '' && facts.maxmemoryPolicy !== 'noeviction';
  if (facts.maxmemoryBytes > 0 && evicts) {
    throw new StoreMisconfiguredError(
      `${address} may evict live leases: maxmemory is ${facts.maxmemoryBytes} bytes and maxmemory-policy is ${facts.maxmemoryPolicy}. Set maxmemory-policy to noeviction.`,
    );
  }
}

/** @throws {StoreMisconfiguredError} for a sentinel, which knows where data is and has none. */
export function assertKeepsData({ mode }: RedisFacts, address: string): void {
  if (mode !== 'sentinel') return;
  throw new StoreMisconfiguredError(
    `${address} is a Sentinel, which keeps no leases: use redis+sentinel://host:port/master-name, or the port of the Redis server.`,
  );
}

/** What a person should know about a server that is usable: what it may lose. */
export function durabilityWarnings(facts: RedisFacts): string[] {
  const warnings: string[] = [];
  if (facts.appendOnlyFile === false) {
    warnings.push(
      'it keeps no append-only file, so leases, terms and messages are gone when it restarts (those written since its last snapshot, if it takes any): set appendonly yes and appendfsync always',
    );
  }
  if (!facts.persistenceHealthy) {
    warnings.push(
      'its last write to the append-only file or its last snapshot failed, so what it holds may not survive a restart: look into its log',
    );
  }
  return warnings;
}
