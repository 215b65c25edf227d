import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AcquireRequest, Holder } from '../../src/coordinators/index.js';
import {
  loadSqlite,
  type SqliteDatabase,
  type SqliteLibrary,
} from '../../src/drivers/sqlite/client.js';
import {
  ClosedError,
  OptionError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../src/errors/index.js';
import {
  type SqliteCoordinator,
  type SqliteCoordinatorOptions,
  sqliteCoordinator,
} from '../../src/sqlite.js';
import { VirtualRuntime } from '../../src/testing.js';
import { folderPerTest } from '../drivers/sqlite/folder.js';
import { NodeProgram } from '../support/node-program.js';
import { virtualClock } from './sqlite-target.js';

const newFolder = folderPerTest();
const call = { timeoutMs: 5_000 };
const ttlMs = 30_000;
const name = 'group/name';

let library: SqliteLibrary;
beforeAll(async () => {
  library = await loadSqlite();
});

const toClose: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of toClose.splice(0)) await one.close();
});

/** A machine in virtual time, with one file. */
class Machine {
  readonly path = join(newFolder(), 'x.db');
  runtime = new VirtualRuntime();
  #bootCount = 0;

  open(options: Partial<SqliteCoordinatorOptions> = {}): SqliteCoordinator {
    const clock = virtualClock(this.runtime, `boot-${this.#bootCount}`);
    const coordinator = sqliteCoordinator(this.path, {
      runtime: this.runtime,
      library,
      clock,
      ...options,
    });
    toClose.push(coordinator);
    return coordinator;
  }

  /** Every process is gone, and the monotonic clock begins anew. */
  async reboot(): Promise<void> {
    for (const one of toClose.splice(0)) await one.close();
    const { wallMs } = this.runtime.now();
    this.#bootCount += 1;
    this.runtime = new VirtualRuntime({ wallMs: wallMs + 60_000 });
  }

  holder(id = 'ann'): Holder {
    return Holder.create(id, this.runtime);
  }

  request(holder: Holder, parts: Partial<AcquireRequest> = {}): AcquireRequest {
    return { name, holder, attempt: this.runtime.randomHex(16), ttlMs, ...parts };
  }

  /** Another program that has the file open. */
  stranger(): SqliteDatabase {
    const database = library.open(this.path);
    toClose.push(database);
    return database;
  }
}

async function take(
  machine: Machine,
  coordinator: SqliteCoordinator,
  holder: Holder,
  parts: Partial<AcquireRequest> = {},
): Promise<number> {
  const [result] = await coordinator.acquire([machine.request(holder, parts)], call);
  return result?.outcome === 'granted'
    ? result.term
    : expect.fail(`not granted: ${result?.outcome}`);
}

describe('a request that waits for the lock', () => {
  async function locked() {
    const machine = new Machine();
    const coordinator = machine.open();
    const holder = machine.holder();
    const term = await take(machine, coordinator, holder);
    const other = machine.stranger();
    other.exec('BEGIN IMMEDIATE');
    return { machine, coordinator, holder, term, other };
  }

  it('extends the lease from its execution, not from when it was made', async () => {
    const { machine, coordinator, holder, term, other } = await locked();
    const pending = coordinator.renew([{ name, holder, term, ttlMs }], { timeoutMs: ttlMs / 2 });
    await machine.runtime.advance(ttlMs / 3);
    other.exec('ROLLBACK');
    expect(await machine.runtime.advanceUntil(pending)).toEqual([{ outcome: 'renewed' }]);
    const [record] = await coordinator.read([name], call);
    expect(record?.state === 'held' && record.remainingMs).toBeGreaterThan(ttlMs - 1_000);
  });

  it('does nothing that was asked for once its time is over, for any operation', async () => {
    const { machine, coordinator, holder, term, other } = await locked();
    const act = { by: 'op', reason: 'test' };
    const calls = [
      coordinator.acquire([machine.request(machine.holder('bob'), { name: 'other' })], call),
      coordinator.renew([{ name, holder, term, ttlMs: ttlMs * 9 }], call),
      coordinator.release([{ name, holder, term }], call),
      coordinator.handoff([{ name, holder, term, to: 'bob', reserveMs: 1_000 }], call),
      coordinator.writeDocument('doc', 'late', 0, call),
      coordinator.suspend(name, act, call),
      coordinator.revoke(name, act, call),
      coordinator.enroll([{ name, holder, standing: 'waiting', preference: 0, ttlMs }], call),
    ];
    const ends = Promise.allSettled<unknown>(calls);
    await machine.runtime.advance(call.timeoutMs);
    for (const end of await ends) {
      expect(end.status).toBe('rejected');
      if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(UnreachableError);
    }
    other.exec('ROLLBACK');
    await machine.runtime.advance(1_000);
    const [record, untaken] = await coordinator.read([name, 'other'], call);
    expect(record).toMatchObject({ state: 'held', term, ttlMs, revocation: undefined });
    expect(untaken).toBeUndefined();
    expect(await coordinator.readDocument('doc', call)).toBeUndefined();
    expect(await coordinator.candidates(name, call)).toEqual([]);
  });

  it('is granted a term that is taken when it is executed', async () => {
    const { machine, coordinator, term, other } = await locked();
    const pending = coordinator.acquire(
      [machine.request(machine.holder('bob'), { name: 'other' })],
      call,
    );
    other.exec(`UPDATE namespace SET last_term = ${term + 1_000_000}`);
    other.exec('COMMIT');
    const [result] = await machine.runtime.advanceUntil(pending);
    expect(result).toEqual({ outcome: 'granted', term: term + 1_000_001 });
  });
});

describe('a restart of the machine', () => {
  it('ends every lease and every entry, and nothing else', async () => {
    const machine = new Machine();
    const before = machine.open();
    const holder = machine.holder();
    const term = await take(machine, before, holder, { keepHistory: true, ttlMs: ttlMs * 100 });
    await before.enroll([{ name, holder, standing: 'present', preference: 0, ttlMs }], call);
    const handed = await take(machine, before, holder, { name: 'handed' });
    const handoff = { name: 'handed', holder, term: handed, to: 'bob', reserveMs: ttlMs };
    await before.handoff([handoff], call);
    await before.suspend('stopped', { by: 'op', reason: 'test' }, call);
    await before.writeDocument('doc', 'text', 0, call);
    await machine.reboot();

    const after = machine.open();
    const vanished = { outcome: 'not-yours', reason: 'vanished' };
    expect(await after.renew([{ name, holder, term, ttlMs }], call)).toEqual([vanished]);
    const [lease, reservation, suspended] = await after.read([name, 'handed', 'stopped'], call);
    expect([lease, reservation, suspended?.state]).toEqual([undefined, undefined, 'suspended']);
    expect(await after.candidates(name, call)).toEqual([]);
    expect(await after.history(name, call)).toMatchObject([{ term, endReason: 'expired' }]);
    expect(await after.readDocument('doc', call)).toMatchObject({ text: 'text' });
    expect(await take(machine, after, machine.holder('bob'))).toBeGreaterThan(term);
  });

  it('begins a lock-delay anew, since nobody can tell how long ago the lease ended', async () => {
    const machine = new Machine();
    const graceMs = 10_000;
    await take(machine, machine.open(), machine.holder(), { graceMs });
    await machine.reboot();
    const after = machine.open();
    const [record] = await after.read([name], call);
    expect(record).toMatchObject({ state: 'lock-delay', remainingMs: graceMs });
    await machine.runtime.advance(graceMs);
    expect(await after.read([name], call)).toEqual([undefined]);
  });

  it('leaves the successor that an operator named its time to come', async () => {
    const machine = new Machine();
    const before = machine.open();
    await take(machine, before, machine.holder());
    const revocation = { by: 'op', reason: 'test', to: 'bob', reserveMs: 5_000 };
    await before.revoke(name, revocation, call);
    await machine.reboot();
    const [record] = await machine.open().read([name], call);
    expect(record).toMatchObject({ state: 'reserved', to: 'bob', remainingMs: 5_000 });
  });
});

describe('namespaces of one file', () => {
  it('know nothing of each other', async () => {
    const machine = new Machine();
    const [one, other] = [machine.open({ namespace: 'one' }), machine.open({ namespace: 'other' })];
    await take(machine, one, machine.holder());
    await one.suspend('stopped', { by: 'op', reason: 'test' }, call);
    expect(await other.read([name, 'stopped'], call)).toEqual([undefined, undefined]);
    await take(machine, other, machine.holder());
    expect(await other.list('group', call)).toHaveLength(1);
  });
});

describe('what nobody asks for again', () => {
  const rowsIn = (machine: Machine, table: string) => {
    const row = machine.stranger().prepare(`SELECT COUNT(*) AS count FROM ${table}`).get();
    return (row as { count: number }).count;
  };

  it('leaves the file: leases and entries that ran out', async () => {
    const machine = new Machine();
    const coordinator = machine.open();
    const holder = machine.holder();
    for (let index = 0; index < 50; index++) {
      const random = `random/${index}`;
      await take(machine, coordinator, holder, { name: random });
      const entry = { name: random, holder, standing: 'waiting', preference: 0, ttlMs } as const;
      await coordinator.enroll([entry], call);
    }
    expect([rowsIn(machine, 'lease'), rowsIn(machine, 'candidate')]).toEqual([50, 50]);
    await machine.runtime.advance(ttlMs);
    for (let round = 0; round < 10; round++)
      await take(machine, coordinator, machine.holder(), { name: `r-${round}` });
    await coordinator.enroll([{ name, holder, standing: 'waiting', preference: 0, ttlMs }], call);
    expect(rowsIn(machine, 'lease')).toBe(10);
    expect(rowsIn(machine, 'candidate')).toBe(1);
  });

  it('leaves the file: histories of names that nobody uses, after thirty days', async () => {
    const machine = new Machine();
    const coordinator = machine.open();
    const holder = machine.holder();
    for (let index = 0; index < 6; index++)
      await take(machine, coordinator, holder, { name: `random/${index}`, keepHistory: true });
    await coordinator.suspend('stopped', { by: 'op', reason: 'test' }, call);
    await machine.runtime.advance(30 * 24 * 60 * 60 * 1000);
    for (let round = 0; round < 4; round++)
      await take(machine, coordinator, holder, { name: `new/${round}`, keepHistory: true });
    expect(rowsIn(machine, 'history')).toBe(5);
    expect(await coordinator.history('stopped', call)).toHaveLength(1);
  });

  it('leaves the file: all but the last thousand wakes', async () => {
    const machine = new Machine();
    const coordinator = machine.open();
    const holder = machine.holder();
    for (let round = 0; round < 3; round++) {
      const names = Array.from({ length: 512 }, (_, index) => `names/${index}`);
      const requests = names.map((one) => machine.request(holder, { name: one }));
      const [first] = await coordinator.acquire(requests, call);
      const term = first?.outcome === 'granted' ? first.term : 0;
      await coordinator.release(
        names.map((one) => ({ name: one, holder, term })),
        call,
      );
    }
    expect(rowsIn(machine, 'wake')).toBe(1000);
  });
});

describe('who looks at the file', () => {
  /** Another process, which rings no bell here. */
  function elsewhere(machine: Machine, sql: string): void {
    const database = machine.stranger();
    database.exec(sql);
  }

  async function watched() {
    const machine = new Machine();
    const coordinator = machine.open();
    await take(machine, coordinator, machine.holder());
    const wakes: (string | undefined)[] = [];
    const stop = coordinator.watch('group', (one) => wakes.push(one));
    await machine.runtime.advance(100);
    return { machine, coordinator, wakes, stop };
  }

  it('hears within 75 ms what another process left word of', async () => {
    const { machine, wakes } = await watched();
    elsewhere(
      machine,
      `INSERT INTO wake VALUES (NULL, 'default', '${name}'), (NULL, 'other', 'group/theirs')`,
    );
    await machine.runtime.advance(75);
    expect(wakes).toEqual([name]);
  });

  it('hears of an expiry that its own renewal has brought forward', async () => {
    const { machine, coordinator, wakes } = await watched();
    const holder = machine.holder('bob');
    const other = { name: 'group/other', holder };
    const term = await take(machine, coordinator, holder, { ...other, ttlMs: ttlMs / 2 });
    await machine.runtime.advance(100);
    await coordinator.renew([{ ...other, term, ttlMs: 1_000 }], call);
    await machine.runtime.advance(1_075);
    expect(wakes).toEqual(['group/other']);
  });

  it('is not told any more what it takes back while another one is told', async () => {
    const { machine, coordinator } = await watched();
    const told: string[] = [];
    const stops = ['first', 'second'].map((which) =>
      coordinator.watch('group', () => {
        told.push(which);
        for (const stop of stops) stop();
      }),
    );
    await machine.runtime.advance(100);
    elsewhere(machine, `INSERT INTO wake VALUES (NULL, 'default', '${name}')`);
    await machine.runtime.advance(75);
    expect(told).toEqual(['first']);
  });

  it('hears that anything may have happened if it missed too much', async () => {
    const { machine, wakes } = await watched();
    elsewhere(
      machine,
      `INSERT INTO wake VALUES (5, 'default', 'x'); DELETE FROM wake WHERE number < 5`,
    );
    await machine.runtime.advance(75);
    expect(wakes).toEqual([undefined]);
  });

  it('hears of an expiry although another process swept the row away first', async () => {
    const { machine, wakes } = await watched();
    const other = machine.open();
    machine.runtime.freeze(ttlMs);
    await take(machine, other, machine.holder('bob'), { name: 'elsewhere' });
    await machine.runtime.advance(75);
    expect(wakes).toContain(name);
  });

  it('looks no more, and keeps no timer, once nobody wants to know', async () => {
    const { machine, wakes, stop } = await watched();
    stop();
    stop();
    elsewhere(machine, `INSERT INTO wake VALUES (NULL, 'default', '${name}')`);
    await machine.runtime.advance(1_000);
    expect(wakes).toEqual([]);
    expect(machine.runtime.pendingTimerCount).toBe(0);
  });

  it('goes on after the file was replaced, and tells that anything may have happened', async () => {
    const { machine, coordinator, wakes } = await watched();
    for (const suffix of ['', '-wal', '-shm']) rmSync(machine.path + suffix, { force: true });
    await machine.runtime.advance(75);
    expect(wakes).toEqual([undefined]);
    const term = await take(machine, coordinator, machine.holder());
    const [record] = await coordinator.read([name], call);
    expect(record).toMatchObject({ state: 'held', term });
  });
});

describe('a waiter', () => {
  it('is called once for each time that the name may be had, if it is among the first three', async () => {
    const machine = new Machine();
    const owner = machine.holder('owner');
    const coordinator = machine.open();
    const term = await take(machine, coordinator, owner);
    const calls: string[] = [];
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      const client = machine.open();
      const holder = machine.holder(id);
      client.onCalled(holder, ({ position }) => calls.push(`${id}${position}`));
      await client.enroll(
        [{ name, holder, standing: 'waiting', preference: 0, ttlMs: ttlMs * 9 }],
        call,
      );
    }
    await machine.runtime.advance(1_000);
    expect(calls).toEqual([]);
    await coordinator.release([{ name, holder: owner, term }], call);
    await machine.runtime.advance(1_000);
    expect(calls).toEqual(['a0', 'b1', 'c2']);
    await coordinator.release(
      [{ name, holder: owner, term: await take(machine, coordinator, owner) }],
      call,
    );
    await machine.runtime.advance(1_000);
    expect(calls.slice(3)).toEqual(['a0', 'b1', 'c2']);
    await take(machine, coordinator, owner);
    await machine.runtime.advance(ttlMs);
    expect(calls.slice(6), 'after an expiry').toEqual(['a0', 'b1', 'c2']);
  });
});

describe('a waiter of a name that is free', () => {
  it('is called again if somebody had it and left it between two looks', async () => {
    const machine = new Machine();
    const coordinator = machine.open();
    const [owner, waiter] = [machine.holder('owner'), machine.holder('waiter')];
    const term = await take(machine, coordinator, owner);
    let callCount = 0;
    coordinator.onCalled(waiter, () => {
      callCount += 1;
    });
    const entry = { name, holder: waiter, standing: 'waiting', preference: 0 } as const;
    await coordinator.enroll([{ ...entry, ttlMs: ttlMs * 9 }], call);
    await coordinator.release([{ name, holder: owner, term }], call);
    await machine.runtime.advance(100);
    expect(callCount).toBe(1);
    machine.stranger().exec(`INSERT INTO wake VALUES (NULL, 'default', '${name}')`);
    await machine.runtime.advance(75);
    expect(callCount).toBe(2);
  });
});

describe('a look at the file that breaks off', () => {
  /** The library, one of whose statements fails once when it is told to. */
  function faulty(fragment: string) {
    /** After how many more of its uses; 0: it has failed. */
    let countdown = 0;
    const failing = (act: () => unknown) => {
      if (countdown > 0) countdown -= 1;
      else return act();
      if (countdown > 0) return act();
      throw new StatementFailed();
    };
    const wrapped: SqliteLibrary = {
      open(path) {
        const database = library.open(path);
        return {
          exec: (sql) => database.exec(sql),
          close: () => database.close(),
          prepare(sql) {
            const statement = database.prepare(sql);
            if (!sql.includes(fragment)) return statement;
            return {
              run: (...values) => statement.run(...values),
              get: (...values) => failing(() => statement.get(...values)),
              all: (...values) => failing(() => statement.all(...values)) as unknown[],
            };
          },
        };
      },
      resultCode: (error) => (error instanceof StatementFailed ? 4 : library.resultCode(error)),
    };
    const failNext = (useCount = 1) => {
      countdown = useCount;
    };
    return { wrapped, failNext, isDone: () => countdown === 0 };
  }

  class StatementFailed extends Error {}

  it('loses no wake: the next look tells it', async () => {
    const machine = new Machine();
    const { wrapped, failNext, isDone } = faulty('SELECT MIN(at_ms)');
    const coordinator = machine.open({ library: wrapped });
    await take(machine, coordinator, machine.holder());
    const wakes: (string | undefined)[] = [];
    coordinator.watch('group', (one) => wakes.push(one));
    await machine.runtime.advance(100);
    failNext();
    machine.stranger().exec(`INSERT INTO wake VALUES (NULL, 'default', '${name}')`);
    await machine.runtime.advance(75);
    expect([wakes, isDone()]).toEqual([[], true]);
    await machine.runtime.advance(75);
    expect(wakes).toEqual([name]);
  });

  it('loses no end of a lease', async () => {
    const machine = new Machine();
    const { wrapped, failNext, isDone } = faulty('SELECT MIN(at_ms)');
    const coordinator = machine.open({ library: wrapped });
    await take(machine, coordinator, machine.holder(), { ttlMs: 1_000 });
    const wakes: (string | undefined)[] = [];
    coordinator.watch('group', (one) => wakes.push(one));
    await machine.runtime.advance(990);
    failNext();
    await machine.runtime.advance(20);
    expect([wakes, isDone()]).toEqual([[], true]);
    await machine.runtime.advance(75);
    expect(wakes).toEqual([name]);
  });

  it('loses no word that the file is another one', async () => {
    const machine = new Machine();
    const { wrapped, failNext, isDone } = faulty('SELECT MIN(at_ms)');
    const coordinator = machine.open({ library: wrapped });
    await take(machine, coordinator, machine.holder());
    const wakes: (string | undefined)[] = [];
    coordinator.watch('group', (one) => wakes.push(one));
    await machine.runtime.advance(100);
    for (const end of ['', '-wal', '-shm']) rmSync(machine.path + end);
    failNext();
    await machine.runtime.advance(1_000);
    expect(isDone()).toBe(true);
    expect(wakes).toEqual([undefined]);
  });

  it('loses no call', async () => {
    const machine = new Machine();
    const { wrapped, failNext, isDone } = faulty('FROM suspension WHERE namespace = ? AND name');
    const [client, other] = [machine.open({ library: wrapped }), machine.open()];
    const [owner, waiter] = [machine.holder('owner'), machine.holder('waiter')];
    const names = ['a', 'b'];
    const calls: (string | undefined)[] = [];
    client.onCalled(waiter, (call) => {
      calls.push(call.name);
    });
    const requests = names.map((one) => machine.request(owner, { name: one }));
    const granted = await other.acquire(requests, call);
    const entries = names.map((one) => ({ name: one, holder: waiter, ttlMs: ttlMs * 9 }));
    await client.enroll(
      entries.map((entry) => ({ ...entry, standing: 'waiting', preference: 0 }) as const),
      call,
    );
    await machine.runtime.advance(100);
    // At the second name: by then it is known that the first may be had.
    failNext(2);
    await other.release(
      names.map((one, index) => ({ name: one, holder: owner, term: termOf(granted[index]) })),
      call,
    );
    await machine.runtime.advance(1_000);
    expect(isDone()).toBe(true);
    expect(calls).toEqual(names);
  });

  function termOf(result: { readonly outcome: string; readonly term?: number } | undefined) {
    return result?.term ?? expect.fail(`not granted: ${result?.outcome}`);
  }
});

describe('a file that somebody meddled with', () => {
  it('grants nothing after its last term was made none', async () => {
    const machine = new Machine();
    const coordinator = machine.open();
    await take(machine, coordinator, machine.holder());
    for (const wrong of ['-5', '9223372036854775807']) {
      machine.stranger().exec(`UPDATE namespace SET last_term = ${wrong}`);
      const requests = [machine.request(machine.holder('bob'), { name: 'other' })];
      const [result] = await coordinator.acquire(requests, call);
      expect(result).toMatchObject({ outcome: 'corrupt' });
    }
  });

  it.each([
    ['a holder', "holder = 'nobody'"],
    ['a term', 'term = 9223372036854775807'],
    ['a deadline', 'deadline_ms = NULL'],
    ['a kind', "kind = 'other'"],
  ])('grants no name whose row has %s that is none, and reports it', async (_, change) => {
    const machine = new Machine();
    const coordinator = machine.open();
    await take(machine, coordinator, machine.holder());
    const reports: string[] = [];
    coordinator.on('corrupt', (event) => reports.push(event.name));
    machine.stranger().exec(`UPDATE lease SET ${change}`);
    const [result] = await coordinator.acquire([machine.request(machine.holder('bob'))], call);
    expect(result).toMatchObject({ outcome: 'corrupt' });
    expect(reports).toEqual([name]);
  });
});

describe('the disk', { timeout: 60_000 }, () => {
  it('that is full refuses calls by name, loses nothing, and works on when there is room', async () => {
    const path = join(import.meta.dirname, 'sqlite-full-disk.mjs');
    const program = new NodeProgram([path, newFolder()]);
    try {
      await program.says(/^end$/);
      // Node 22 says beside it that its SQLite is experimental.
      const said = program.lines.filter((line) => !line.startsWith('('));
      expect(said).toEqual([
        expect.stringMatching(/^written: StoreRefusedError: .*the disk is full/),
        'read: {"version":1,"text":"kept"}',
        'with room: {"outcome":"written","version":2}',
        'end',
      ]);
    } finally {
      await program.kill();
    }
  });
});

describe('how it is made', () => {
  it.each([
    ['a path that is none', () => sqliteCoordinator(':memory:'), 'path'],
    [
      'a namespace that is no name',
      () => sqliteCoordinator('x.db', { namespace: '' }),
      'namespace',
    ],
    ['no options', () => sqliteCoordinator('x.db', null as never), 'options'],
    [
      'a runtime that is none',
      () => sqliteCoordinator('x.db', { runtime: {} as never }),
      'runtime',
    ],
  ])('%s is refused by name, and opens nothing', (_, make, option) => {
    expect(make).toThrow(OptionError);
    expect(make).toThrow(new RegExp(`^${option} `));
  });

  it('a network file system is refused by every call', async () => {
    const coordinator = new Machine().open({ statFileSystem: () => ({ type: 0x6969 }) });
    await expect(coordinator.read([name], call)).rejects.toThrow(StoreMisconfiguredError);
    await expect(coordinator.list('', call)).rejects.toThrow('NFS');
  });

  it('its recipe makes another coordinator of the same namespace of the same file', async () => {
    const machine = new Machine();
    const coordinator = sqliteCoordinator(machine.path, { namespace: 'team/a' });
    toClose.push(coordinator);
    const { module, factory, args } = structuredClone(coordinator.recipe) ?? expect.fail();
    const made = (await import(module))[factory](...args) as SqliteCoordinator;
    toClose.push(made);
    await take(machine, coordinator, machine.holder());
    expect((await made.read([name], call))[0]?.state).toBe('held');
  });

  it('empty batches are refused after it was closed, as all else is', async () => {
    const coordinator = new Machine().open();
    await coordinator.close();
    await expect(coordinator.acquire([], call)).rejects.toThrow(ClosedError);
    await expect(coordinator.withdraw([], call)).rejects.toThrow(ClosedError);
    expect(() => coordinator.onConnectionLost(() => undefined)).toThrow(ClosedError);
  });
});
