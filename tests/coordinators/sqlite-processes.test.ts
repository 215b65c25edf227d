import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { loadSqlite } from '../../src/drivers/sqlite/client.js';
import { UnreachableError } from '../../src/errors/index.js';
import { type SqliteCoordinator, sqliteCoordinator } from '../../src/sqlite.js';
import { realRuntime } from '../../src/time/index.js';
import { folderPerTest } from '../drivers/sqlite/folder.js';
import { call } from '../support/call.js';
import { NodeProgram } from '../support/node-program.js';
import { until } from '../support/until.js';

const newFolder = folderPerTest();
const contender = join(import.meta.dirname, 'sqlite-contender.mjs');

const toClose: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of toClose.splice(0)) one.close();
});

function open(path: string): SqliteCoordinator {
  const coordinator = sqliteCoordinator(path);
  toClose.push(coordinator);
  return coordinator;
}

async function newCounter(folder: string) {
  const database = (await loadSqlite()).open(join(folder, 'counter.db'));
  toClose.push(database);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 5000');
  database.exec('CREATE TABLE counter (value INTEGER, term INTEGER)');
  database.exec('INSERT INTO counter VALUES (0, 0)');
  return {
    value: () => (database.prepare('SELECT value FROM counter').get() as { value: number }).value,
  };
}

/** Everything that some processes have printed, line by line. */
class Fleet {
  readonly #folder: string;
  readonly #programs: NodeProgram[] = [];
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  start(...wishes: string[]): NodeProgram {
    const files = [join(this.#folder, 'leases.db'), join(this.#folder, 'counter.db')] as const;
    const program = new NodeProgram([contender, ...files, `p-${this.#count++}`, ...wishes]);
    this.#programs.push(program);
    return program;
  }

  /** The numbers behind a word, of all lines that begin with it. */
  lines(word: string): number[][] {
    return this.#programs.flatMap(({ lines }) =>
      lines.flatMap((line) => {
        const [first, ...numbers] = line.split(' ');
        return first === word ? [numbers.map(Number)] : [];
      }),
    );
  }

  get output(): string {
    return this.#programs.map(({ output }) => output).join('\n---\n');
  }

  async kill(): Promise<void> {
    for (const program of this.#programs) await program.kill();
  }
}

const pause = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs));

describe('processes that are killed at any moment', { timeout: 120_000 }, () => {
  it('never hold one lease at the same time, nor in one term, and the counter misses no addition', async () => {
    const folder = newFolder();
    const counter = await newCounter(folder);
    const fleet = new Fleet(folder);
    try {
      const running = [fleet.start(), fleet.start(), fleet.start()];
      await Promise.all(running.map((program) => program.says(/^ready$/, 60_000)));
      for (let round = 0; round < 8; round++) {
        await pause(100 + 400 * Math.random());
        const index = Math.floor(Math.random() * running.length);
        await running[index]?.kill();
        running[index] = fleet.start();
      }
      await Promise.all(running.map((program) => program.says(/^ready$/, 60_000)));
      await pause(2_000);
      await fleet.kill();

      const grants = fleet.lines('granted').sort(([one = 0], [other = 0]) => one - other);
      const terms = grants.map(([term]) => term);
      expect(terms.length, fleet.output).toBeGreaterThan(8);
      expect(new Set(terms).size, 'each term was granted once').toBe(terms.length);
      const stops = new Map(fleet.lines('stopped').map(([term, atMs]) => [term, atMs]));
      for (const [index, [term, answeredMs = 0]] of grants.entries()) {
        const [before, , untilMs = 0] = grants[index - 1] ?? [];
        const believedUntilMs = stops.get(before) ?? untilMs;
        expect(answeredMs, `${term} after ${before}`).toBeGreaterThan(believedUntilMs);
      }
      const addedCount = fleet.lines('added').length;
      expect(fleet.lines('refused')).toEqual([]);
      // A process may be killed between the addition and the word of it: one for each kill at most.
      expect(counter.value()).toBeGreaterThanOrEqual(addedCount);
      expect(counter.value()).toBeLessThanOrEqual(addedCount + 11);
      expect(statSync(join(folder, 'leases.db')).mode & 0o777).toBe(0o600);
    } finally {
      await fleet.kill();
    }
  });
});

describe('a process that is stopped inside a transaction', { timeout: 120_000 }, () => {
  it('is named to the others, who can read meanwhile and go on when it is gone', async () => {
    const folder = newFolder();
    await newCounter(folder);
    const fleet = new Fleet(folder);
    const path = join(folder, 'leases.db');
    try {
      const stopped = fleet.start('stop-inside');
      await stopped.says(/^stopping inside$/, 60_000);
      const coordinator = open(path);
      const holder = Holder.create('other', realRuntime);
      const request = { name: 'other', holder, attempt: realRuntime.randomHex(16), ttlMs: 1_000 };
      // Who stands in the way is looked up in its last moments, and a busy machine needs more of them.
      const blocked = coordinator.acquire([request], { timeoutMs: 1_500 });
      await expect(blocked).rejects.toThrow(UnreachableError);
      await expect(blocked).rejects.toThrow(
        /^acquire was not executed within 1500 ms: .* Process \d+ is stopped inside a transaction: let it go on \(SIGCONT\), or end it\.$/,
      );
      expect(await coordinator.read(['other'], call)).toEqual([undefined]);

      const waiting = coordinator.acquire([request], { timeoutMs: 10_000 });
      stopped.signal('SIGKILL');
      expect((await waiting)[0]?.outcome).toBe('granted');
    } finally {
      await fleet.kill();
    }
  });

  it('undoes when it goes on what it was doing, since its time is over', async () => {
    const folder = newFolder();
    await newCounter(folder);
    const fleet = new Fleet(folder);
    try {
      const stopped = fleet.start('stop-inside');
      await stopped.says(/^stopping inside$/, 60_000);
      const coordinator = open(join(folder, 'leases.db'));
      const holder = Holder.create('other', realRuntime);
      const request = { name: 'counter', holder, attempt: realRuntime.randomHex(16), ttlMs: 5_000 };
      const waiting = coordinator.acquire([request], { timeoutMs: 10_000 });
      await pause(300);
      stopped.signal('SIGCONT');
      expect((await waiting)[0]?.outcome).toBe('granted');
      await stopped.says(/^came out: UnreachableError: acquire was not executed within 200 ms/);
      expect(fleet.lines('granted')).toEqual([]);
    } finally {
      await fleet.kill();
    }
  });
});

describe('word from another process', { timeout: 120_000 }, () => {
  it('wakes who watches, and calls who waits, when a lease is released or runs out there', async () => {
    const folder = newFolder();
    await newCounter(folder);
    const fleet = new Fleet(folder);
    try {
      const coordinator = open(join(folder, 'leases.db'));
      const holder = Holder.create('waiter', realRuntime);
      const entry = {
        name: 'counter',
        holder,
        standing: 'waiting',
        preference: 0,
        ttlMs: 60_000,
      } as const;
      const [wakes, calls]: [unknown[], unknown[]] = [[], []];
      coordinator.watch('', (name) => wakes.push(name));
      coordinator.onCalled(holder, (one) => calls.push(one));
      await coordinator.enroll([entry], call);
      const program = fleet.start();
      await program.says(/^granted/, 60_000);
      await until('a wake and a call', () => wakes.length > 1 && calls.length > 1);
      expect(wakes).toContain('counter');
      expect(calls).toContainEqual({ name: 'counter', position: 0 });
    } finally {
      await fleet.kill();
    }
  });
});
