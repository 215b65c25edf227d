import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ClosedError,
  OptionError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../src/errors/index.js';
import { type SqliteCoordinator, sqliteCoordinator } from '../../src/sqlite.js';
import { NodeProgram } from '../support/node-program.js';
import { call, Machine, name, newFolder, take, toClose, ttlMs } from './sqlite-machine.js';

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
