import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { inject } from 'vitest';
import { ensureBuilt } from '../../../scripts/bootstrap.mjs';
import type {
  Coordinator,
  ElectionOptions,
  HistoryEntry,
  LeaseRecord,
  LeasesOptions,
} from '../../../src/index.js';
import { OutcomeUnknownError, UnreachableError } from '../../../src/index.js';
import { call } from '../call.js';
import { FaultProxy } from '../proxy.js';
import { type RedisOptions, type RedisServer, startRedis } from '../servers/index.js';
import { until } from '../until.js';
import type { WitnessedTerm } from '../witness.js';
import {
  CandidateProcess,
  type CandidateSettings,
  type CrowdSettings,
  type Woken,
} from './candidate.js';
import {
  openPlace,
  type Place,
  type PlaceName,
  SqlitePlace,
  serverPlace,
  type TamperablePlace,
} from './places.js';
import { GuardedResource } from './resource.js';

// Processes import the package by its name, so what runs is what was built.
ensureBuilt();

export const election = 'payments';
export const ttlMs = 3_000;
export const renewEveryMs = ttlMs / 4;
/** Patient, for a busy machine: a renewal may fail, and be heard of here, long before the lease is given up. */
export const timing: Timing = { ttlMs, renewEveryMs, attemptTimeoutMs: ttlMs / 8 };

export interface Timing {
  readonly ttlMs: number;
  readonly renewEveryMs: number;
  readonly attemptTimeoutMs: number;
}

/** A server of whatever kind, and the timing of leases that it can keep. */
export interface ServedStore {
  readonly store: string;
  readonly url: string;
  readonly ttlMs: number;
}

/**
 * From a death to the next leader, at worst: the whole ttl, a look at the queue if those called first are dead as well, and
 * what a busy machine adds.
 */
export const takeoverMs = ttlMs + renewEveryMs + 2_000;

export interface ElectorateOptions {
  /** A Redis of the test's own. Default: the one that all tests share. */
  readonly redisUrl?: string;
  /** Where the folder of a SQLite file is made. Default: the system's temporary folder. */
  readonly folder?: string;
  /** `false`: the resource accepts every write. */
  readonly isFenced?: boolean;
}

export interface CandidateOptions {
  /** Default: that of the store. */
  readonly url?: string;
  readonly leases?: LeasesOptions;
  readonly election?: ElectionOptions;
  readonly dies?: CandidateSettings['dies'];
  readonly environment?: Readonly<Record<string, string>>;
}

/** One election on one store: its candidates, each a process; the resource they write to; and the witness against them. */
export class Electorate {
  readonly place: Place;
  readonly timing: Timing;
  readonly namespace = `electorate-${randomBytes(6).toString('hex')}`;
  readonly resource: GuardedResource;
  readonly coordinator: Coordinator;
  readonly #processes: CandidateProcess[] = [];
  readonly #proxies: FaultProxy[] = [];
  readonly #terms = new Map<number, WitnessedTerm>();
  /** A write is noted late when this process does not come to it. */
  readonly #delay = monitorEventLoopDelay({ resolution: 10 });

  constructor(where: PlaceName | ServedStore, options: ElectorateOptions = {}) {
    if (typeof where === 'string') {
      const { redisUrl = inject('redisUrl'), folder = tmpdir() } = options;
      this.place = openPlace(where, redisUrl, folder);
      this.timing = timing;
    } else {
      this.place = serverPlace(where.store, where.url);
      // Several servers have to agree on some of them, on the same two cores.
      const { ttlMs } = where;
      this.timing = { ttlMs, renewEveryMs: ttlMs / 4, attemptTimeoutMs: ttlMs / 6 };
    }
    this.resource = new GuardedResource(options.isFenced ?? true);
    this.coordinator = this.place.connect(this.namespace);
    this.#delay.enable();
  }

  /** The store, for somebody who interferes with it. */
  get tamperable(): TamperablePlace {
    const { place } = this;
    if ('deleteRecord' in place) return place as TamperablePlace;
    throw new Error(`nothing is known of how ${place.name} keeps records`);
  }

  /** A process that has not begun to do anything. */
  candidate(id: string, options: CandidateOptions = {}): CandidateProcess {
    const { url = this.place.url, environment, dies } = options;
    return this.#start(
      {
        ...this.#common(id, url),
        leases: { ...this.timing, ...options.leases },
        election: { firstPauseMs: 200, longestPauseMs: 500, ...options.election },
        connectTimeoutMs: this.timing.ttlMs / 5,
        ...(dies !== undefined && { dies }),
      },
      environment,
    );
  }

  /** A process that stands for the election from now on. */
  async standing(id: string, options?: CandidateOptions): Promise<CandidateProcess> {
    const candidate = this.candidate(id, options);
    await candidate.lead();
    return candidate;
  }

  /** A way to this Redis that can be made to misbehave, and the URL that leads over it. */
  async proxy(): Promise<{ readonly proxy: FaultProxy; readonly url: string }> {
    const proxy = await FaultProxy.start(Number(new URL(this.place.url).port));
    this.#proxies.push(proxy);
    return { proxy, url: `redis://127.0.0.1:${proxy.port}` };
  }

  crowd(id: string, settings: Pick<CrowdSettings, 'leases' | 'count' | 'connectionCount'>) {
    return this.#start({ ...this.#common(id, this.place.url), ...settings });
  }

  /** What stands in the store. */
  async record(): Promise<LeaseRecord | undefined> {
    return (await this.coordinator.read([election], call))[0];
  }

  /** As the store has it. */
  history(): Promise<HistoryEntry[]> {
    return this.coordinator.history(election, call);
  }

  /** Resolves when so many wait in the queue. */
  async untilWaiting(count: number): Promise<void> {
    await until(`${count} to wait`, async () => {
      const candidates = await answered(() => this.coordinator.candidates(election, call));
      return candidates.filter(({ standing }) => standing === 'waiting').length >= count;
    });
  }

  /** Of these, who is first to lead in a term after this one, and has written in it. */
  async leaderAfter(term: number, candidates: readonly CandidateProcess[]) {
    const leader = await Promise.any(
      candidates.map(async (process) => ({ process, ...(await process.elected(term)) })),
    );
    await this.resource.written(leader.term);
    return leader;
  }

  /**
   * Stops it beyond the ttl, and wakes it when it is time. Not inside a transaction, where it would keep everybody else from
   * a SQLite file: its renewing thread may be in one at any moment.
   */
  async freeze(process: CandidateProcess, isTime: () => Promise<unknown>): Promise<Woken> {
    const unlock = this.place instanceof SqlitePlace ? await this.place.lock() : () => {};
    return await process.freeze(this.timing.ttlMs, () => {
      unlock();
      return isTime();
    });
  }

  /** Keeps what the store's history has: it forgets old lines, and everything when its data are lost. */
  async noteTerms(): Promise<void> {
    for (const entry of await answered(() => this.history()))
      if (entry.kind === 'term') this.#terms.set(entry.term, entry);
  }

  /**
   * The store has lost its data just now. Whoever led may believe until it would have given up, had it heard of a renewal
   * in this moment.
   */
  dataLost(): void {
    const endedAtMs = Date.now() + (this.timing.ttlMs * 2) / 3;
    for (const [number, term] of this.#terms)
      if (term.endedAtMs === undefined) this.#terms.set(number, { ...term, endedAtMs });
  }

  /** What the witness has against them, by the store's history. */
  async violations(): Promise<string[]> {
    await this.noteTerms();
    return this.resource.witness.violations(this.terms, this.#toleranceMs);
  }

  /** What the witness has against them whenever terms began and ended, for a store whose clock was set. */
  async violationsBesidesTimes(): Promise<string[]> {
    await this.noteTerms();
    const always = { grantedAtMs: Number.NEGATIVE_INFINITY, endedAtMs: undefined };
    return this.resource.witness.violations(
      this.terms.map((term) => ({ ...term, ...always })),
      0,
    );
  }

  get running(): CandidateProcess[] {
    return this.#processes.filter(({ isRunning }) => isRunning);
  }

  get terms(): WitnessedTerm[] {
    return [...this.#terms.values()];
  }

  get refusedCount(): number {
    return this.resource.witness.refused.length;
  }

  get stories(): string {
    return this.#processes.join('\n');
  }

  /** Ends every process and lets go of everything. */
  async end(): Promise<void> {
    this.#delay.disable();
    await Promise.all(this.#processes.map((process) => process.kill()));
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
    await this.coordinator.close();
    await this.place.close();
  }

  get #toleranceMs(): number {
    return 100 + this.#delay.max / 1e6;
  }

  #common(id: string, url: string) {
    return { url, namespace: this.namespace, id, name: election };
  }

  #start(
    settings: CandidateSettings | CrowdSettings,
    environment?: Readonly<Record<string, string>>,
  ): CandidateProcess {
    const process = new CandidateProcess(settings, this.resource, environment);
    this.#processes.push(process);
    return process;
  }
}

/** A test that plays on an electorate, which is gone afterwards; if it fails, everybody's story is shown. */
export function on(
  placeName: PlaceName,
  play: (electorate: Electorate) => Promise<void>,
  { limitMs = 55_000, ...options }: ElectorateOptions & { readonly limitMs?: number } = {},
): () => Promise<void> {
  return async () => {
    const electorate = new Electorate(placeName, options);
    const patience = new AbortController();
    try {
      await Promise.race([play(electorate), failAfter(limitMs, patience.signal)]);
    } catch (error) {
      console.error(electorate.stories);
      throw error;
    } finally {
      patience.abort();
      await electorate.end();
    }
  };
}

/** Sooner than the runner would, which does not ask for stories. */
async function failAfter(limitMs: number, signal: AbortSignal): Promise<never> {
  await setTimeout(limitMs, undefined, { signal });
  throw new Error(`not over after ${limitMs} ms`);
}

/** As {@link on}, on SQLite, for a play that interferes with the file. */
export function onFile(
  play: (electorate: Electorate, file: SqlitePlace) => Promise<void>,
): () => Promise<void> {
  return on('SQLite', async (electorate) => {
    const { place } = electorate;
    if (!(place instanceof SqlitePlace)) throw new Error('there is no file');
    await play(electorate, place);
  });
}

/** As {@link on}, on a Redis of its own, for a play that interferes with the server. */
export function onOwnRedis(
  redisOptions: RedisOptions,
  play: (electorate: Electorate, server: RedisServer) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const server = await startRedis(redisOptions);
    try {
      const { url: redisUrl } = server;
      await on('Redis', (electorate) => play(electorate, server), { redisUrl })();
    } finally {
      await server.stop();
    }
  };
}

const answeredWithinMs = 30_000;

/** A look of the one who plays, which is not what is played: on a busy machine it is taken again. */
async function answered<Answer>(look: () => Promise<Answer>): Promise<Answer> {
  const startedMs = performance.now();
  for (;;) {
    try {
      return await look();
    } catch (error) {
      const isUnanswered =
        error instanceof UnreachableError || error instanceof OutcomeUnknownError;
      if (!isUnanswered || performance.now() - startedMs > answeredWithinMs) throw error;
      await setTimeout(100);
    }
  }
}
