import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { SqliteLibrary } from '../../src/drivers/sqlite/client.js';
import { call, library, Machine, name, take, ttlMs } from './sqlite-machine.js';

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
