import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { errorKindOf } from '../../src/errors/error-kind.js';
import {
  OutcomeUnknownError,
  StaleTermError,
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../src/errors/index.js';
import { Leases } from '../../src/leases/index.js';
import { memoryFence } from '../../src/memory.js';
import {
  migratePostgres,
  type PostgresCoordinator,
  postgresCoordinator,
} from '../../src/postgres.js';
import { type PostgresServer, startPostgres } from '../support/servers/index.js';
import { ann, bob, call, eventually, runSql, Speaker } from './postgres-fixture.js';

const hourMs = 60 * 60 * 1000;

let server: PostgresServer;
let emptyCopy: string;
const open: PostgresCoordinator[] = [];

const sql = (text: string, values?: unknown[]) => runSql(server.url, text, values);

function speaker(url = server.url): Speaker {
  const coordinator = postgresCoordinator(url, { connectTimeoutMs: 1_000 });
  open.push(coordinator);
  return new Speaker(coordinator);
}

beforeAll(async () => {
  // A server process that dies loses what it had not handed to the system, with or without it.
  server = await startPostgres({
    fsync: false,
    clock: true,
    // So that what was not flushed at the commit is not flushed by chance.
    settings: { wal_writer_delay: '10s', wal_writer_flush_after: '0' },
  });
  await migratePostgres(server.url);
  emptyCopy = await server.copyData();
});
afterEach(async () => {
  for (const coordinator of open.splice(0)) await coordinator.close();
  if (server.clockOffsetMs !== 0) server.stepClock(-server.clockOffsetMs);
});
afterAll(() => server.stop());

/** Runs `body` while the role of all clients has a setting as its default. */
async function withDefault(setting: string, value: string, body: () => Promise<void>) {
  await sql(`ALTER ROLE tenure SET ${setting} = ${value}`);
  try {
    await body();
  } finally {
    await sql(`BEGIN; SET TRANSACTION READ WRITE; ALTER ROLE tenure RESET ${setting}; COMMIT`);
  }
}

/** Until the server has answered this coordinator again. */
async function reconnected({ coordinator }: Speaker): Promise<void> {
  await eventually(() =>
    coordinator.read(['any'], call).then(
      () => true,
      () => false,
    ),
  ).toBe(true);
}

describe('a PostgreSQL server that crashes during a term', () => {
  it('gives no answer meanwhile, has the lease still, and grants a higher term afterwards', async () => {
    const holder = speaker();
    const other = speaker();
    const lost: string[] = [];
    holder.coordinator.onConnectionLost(() => lost.push('lost'));
    const term = await holder.take('crashed');
    await server.kill();
    await eventually(() => lost.length).toBeGreaterThan(0);
    const renewal = holder.coordinator.renew(
      [{ name: 'crashed', holder: ann, term, ttlMs: 60_000 }],
      {
        timeoutMs: 300,
      },
    );
    await expect(renewal).rejects.toBeInstanceOf(UnreachableError);
    await server.restart();
    await Promise.all([reconnected(holder), reconnected(other)]);
    expect(await other.acquire('crashed', { holder: bob })).toMatchObject({ outcome: 'held' });
    expect(await holder.renew('crashed', term)).toBe('renewed');
    expect(await holder.release('crashed', term)).toBe('ended');
    expect(await other.take('crashed', { holder: bob })).toBeGreaterThan(term);
  });

  it('has kept whatever it answered, though its role commits asynchronously', async () => {
    await withDefault('synchronous_commit', 'off', async () => {
      const holder = speaker();
      const term = await holder.take('durable', { above: 7_000_000_000_000_000 });
      await sql('CREATE TABLE IF NOT EXISTS lost (n int); INSERT INTO lost VALUES (1)');
      await server.kill();
      await server.restart();
      await reconnected(holder);
      expect(await holder.renew('durable', term)).toBe('renewed');
      expect(await holder.release('durable', term)).toBe('ended');
      await server.kill();
      await server.restart();
      await reconnected(holder);
      expect(await holder.read('durable')).toBeUndefined();
      expect(await holder.take('durable')).toBeGreaterThan(term);
      // The counterproof: what was committed as the role has it is gone.
      await expect(sql('SELECT * FROM lost')).rejects.toThrow(/does not exist/);
    });
    await server.restartFrom(emptyCopy);
  });
});

describe('a PostgreSQL server with an older copy of its data', () => {
  it('grants a term above all that it forgot, and tells the holder that it has lost', async () => {
    const holder = speaker();
    await holder.release('restored', await holder.take('restored'));
    const copy = await server.copyData();
    const term = await holder.take('restored');
    await server.restartFrom(copy);
    await reconnected(holder);
    expect(await holder.renew('restored', term)).toBe('vanished');
    expect(await holder.take('restored', { holder: bob })).toBeGreaterThan(term);
    expect(await holder.renew('restored', term)).toBe('superseded');
    rmSync(copy, { recursive: true });
  });

  it('heals upward from a term that only the resource remembers', async () => {
    const holder = speaker();
    const copy = await server.copyData();
    const seen = await holder.take('healed', { above: Date.now() + 365 * 24 * hourMs });
    await server.restartFrom(copy);
    await reconnected(holder);
    const regressed = await holder.take('healed');
    expect(regressed).toBeLessThan(seen);
    await holder.release('healed', regressed);
    const healed = await holder.take('healed', { above: seen });
    expect(healed).toBeGreaterThan(seen);
    await holder.release('healed', healed);
    expect(await holder.take('healed')).toBeGreaterThan(healed);
    await server.restartFrom(emptyCopy);
  });
});

describe('a standby that was behind when it was promoted', () => {
  it('grants a second holder what the first still holds, in a higher term, and a fence refuses the first', async () => {
    const first = speaker();
    const second = speaker();
    const fence = memoryFence();
    const behind = await server.copyData();
    const older = { name: 'failed-over', holder: ann, term: await first.take('failed-over') };
    await fence.claim(older);
    writeFileSync(join(behind, 'standby.signal'), '');
    await server.restartFrom(behind);
    await sql('SELECT pg_promote(true, 10)');
    await Promise.all([reconnected(first), reconnected(second)]);
    const term = await second.take('failed-over', { holder: bob, keepHistory: true });
    expect(term).toBeGreaterThan(older.term);
    await fence.claim({ name: 'failed-over', holder: bob, term });
    const writing = fence.transaction(older, async () => {});
    await expect(writing).rejects.toBeInstanceOf(StaleTermError);
    expect(await first.renew('failed-over', older.term)).toBe('superseded');
    const [line] = await second.coordinator.history('failed-over', call);
    expect(line).toMatchObject({ kind: 'term', term, holderId: 'bob' });
    await server.restartFrom(emptyCopy);
  });
});

describe('a role with other defaults', () => {
  for (const isolation of ['read committed', 'repeatable read', 'serializable']) {
    it(`may have ${isolation} transactions: what waited for a suspension is not granted after it`, async () => {
      await withDefault('default_transaction_isolation', `'${isolation}'`, async () => {
        const name = `suspended ${isolation}`;
        const waiter = speaker();
        expect(await waiter.read('any')).toBeUndefined();
        const operator = new pg.Client(server.url);
        await operator.connect();
        try {
          await operator.query('BEGIN');
          const suspend = "SELECT tenure.suspend('default', 1e15, 'c', $1, '', 'operator', 'test')";
          await operator.query(suspend, [name]);
          const acquiring = waiter.acquire(name);
          await eventually(async () => {
            const rows = await sql(
              "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype <> 'virtualxid'",
            );
            return rows.length > 0;
          }).toBe(true);
          await operator.query('COMMIT');
          expect(await acquiring).toMatchObject({
            outcome: 'held',
            current: { state: 'suspended' },
          });
        } finally {
          await operator.end();
        }
      });
    });
  }

  for (const isolation of ['repeatable read', 'serializable']) {
    it(`may have ${isolation} transactions: of many who contend one at a time is granted, in rising terms`, async () => {
      await withDefault('default_transaction_isolation', `'${isolation}'`, async () => {
        const grants: number[] = [];
        const contend = async ({ coordinator }: Speaker, id: number) => {
          const one = new Speaker(coordinator);
          for (let round = 0; round < 8; round += 1) {
            const result = await one.acquire(isolation, {
              holder: id % 2 === 0 ? ann : bob,
              keepHistory: true,
            });
            if (result.outcome !== 'granted') continue;
            grants.push(result.term);
            const holder = id % 2 === 0 ? ann : bob;
            expect(await one.renew(isolation, result.term, 60_000, holder)).toBe('renewed');
            expect(await one.release(isolation, result.term, holder)).toBe('ended');
          }
        };
        await Promise.all([speaker(), speaker(), speaker(), speaker()].map(contend));
        expect(grants.length).toBeGreaterThan(0);
        expect(grants).toEqual([...new Set(grants)].sort((one, other) => one - other));
      });
    });
  }

  it('is refused if it may only read by default', async () => {
    await withDefault('default_transaction_read_only', 'on', async () => {
      const one = speaker();
      const reading = one.read('name');
      await expect(reading).rejects.toBeInstanceOf(StoreMisconfiguredError);
      await expect(reading).rejects.toThrow(/default_transaction_read_only/);
      // Whoever asks next is told the same, without another look.
      for (const asked of [reading, one.read('name')])
        expect(errorKindOf(await asked.catch((error) => error))).toBe('replica');
    });
  });

  it('may have a row that never ends: its name is granted to nobody, and others are not in its way', async () => {
    await speaker().take('endless');
    await sql("UPDATE tenure.leases SET deadline = 'infinity' WHERE name = 'endless'");
    const one = speaker();
    expect(await one.acquire('endless', { holder: bob })).toMatchObject({ outcome: 'corrupt' });
    await expect(one.read('endless')).rejects.toThrow(/endless/);
    expect(await one.coordinator.list('', call)).toEqual(expect.not.arrayContaining(['endless']));
    expect(await one.take('beside the endless')).toBeGreaterThan(0);
    await sql("DELETE FROM tenure.leases WHERE name = 'endless'");
  });

  it('may have a search path in which everything is something else', async () => {
    await sql(`CREATE SCHEMA evil; CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT timestamptz ''2001-01-01''';
`);
    await withDefault('search_path', 'evil, pg_catalog', async () => {
      const term = await speaker().take('path');
      expect(term).toBeGreaterThan(Date.UTC(2020));
      expect(await speaker().acquire('path', { holder: bob })).toMatchObject({ outcome: 'held' });
    });
    await sql('DROP SCHEMA evil CASCADE');
  });

  it('may end its statements early: that is an answer, and nothing was done', async () => {
    await withDefault('statement_timeout', "'150ms'", async () => {
      const release = await blocked('TABLE tenure.namespaces IN ACCESS EXCLUSIVE MODE');
      const acquiring = speaker().acquire('ended');
      await expect(acquiring).rejects.toMatchObject({ storeCode: '57014' });
      await release();
    });
  });
});

/** Somebody holds a lock until the returned function is called. */
async function blocked(lock: string): Promise<() => Promise<void>> {
  const { default: pg } = await import('pg');
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query('BEGIN');
  await client.query(`LOCK ${lock}`);
  return async () => {
    await client.query('ROLLBACK');
    await client.end();
  };
}

describe('somebody who locks the tables', () => {
  it('keeps no call longer than its timeout, and no session of the server either', async () => {
    const one = speaker();
    await one.take('warm');
    const release = await blocked('TABLE tenure.namespaces IN ACCESS EXCLUSIVE MODE');
    try {
      const startedMs = performance.now();
      const request = { name: 'locked', holder: ann, attempt: 'a'.repeat(32), ttlMs: 60_000 };
      const outcome = await one.coordinator
        .acquire([request], { timeoutMs: 400 })
        .catch((error) => error);
      expect(performance.now() - startedMs).toBeLessThan(5_000);
      const isExpected =
        outcome instanceof StoreRefusedError || outcome instanceof OutcomeUnknownError;
      expect(isExpected, String(outcome)).toBe(true);
      const waiting =
        "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
      await eventually(() => sql(waiting)).toEqual([{ count: 0 }]);
    } finally {
      await release();
    }
    expect(await one.read('locked')).toBeUndefined();
  });
});

describe("a server's clock that is set", () => {
  it('forward ends a lease early: the next term is higher, and the former holder is told', async () => {
    const one = speaker();
    const term = await one.take('early');
    server.stepClock(hourMs);
    expect(await one.take('early', { holder: bob, ttlMs: 100 })).toBeGreaterThan(term);
    expect(await one.renew('early', term)).toBe('superseded');
  });

  it('back lets a lease end a ttl later at the latest, and says so', async () => {
    const one = speaker();
    const repaired: string[] = [];
    one.coordinator.on('repaired', ({ name }) => repaired.push(name));
    await one.take('ahead', { ttlMs: 300 });
    server.stepClock(-hourMs);
    expect(await one.acquire('ahead', { holder: bob })).toMatchObject({ outcome: 'held' });
    expect(repaired).toEqual(['ahead']);
    await eventually(() =>
      one.acquire('ahead', { holder: bob }).then(({ outcome }) => outcome),
    ).toBe('granted');
  });

  it.each<[string, (speaker: Speaker, name: string) => Promise<unknown>]>([
    ['reads it', (one, name) => one.read(name)],
    ['lists its group', (one, name) => one.coordinator.list(name.split('/')[0] ?? '', call)],
    [
      'waits for it',
      ({ coordinator }, name) => {
        const entry = { holder: bob, standing: 'waiting', preference: 0, ttlMs: 60_000 } as const;
        return coordinator.enroll([{ ...entry, name }], call);
      },
    ],
  ])('back is seen by whoever %s, and then too the lease lives for its ttl', async (_, look) => {
    const one = speaker();
    const repaired: string[] = [];
    one.coordinator.on('repaired', ({ name }) => repaired.push(name));
    const name = `looked-at-${randomUUID()}/one`;
    await one.take(name, { ttlMs: 20_000 });
    server.stepClock(-hourMs);
    await look(one, name);
    expect(repaired).toEqual([name]);
    const left = `SELECT date_part('epoch', deadline - clock_timestamp()) AS left FROM tenure.leases WHERE name = $1`;
    const [row] = (await sql(left, [name])) as { readonly left: number }[];
    expect(row?.left).toBeLessThanOrEqual(20);
  });

  it('back while the leader is dead and others wait already keeps nobody waiting until it has caught up', async () => {
    const dead = speaker();
    await dead.take('dead', { ttlMs: 2_000 });
    const leases = new Leases(speaker().coordinator, { id: 'heir', ttlMs: 2_000 });
    try {
      const inherited = leases.acquire('dead', { waitMs: 40_000 });
      const waiting = () => dead.coordinator.candidates('dead', call);
      await eventually(async () => (await waiting()).length).toBe(1);
      server.stepClock(-hourMs);
      expect((await inherited)?.state).toBe('held');
    } finally {
      await leases.close();
    }
  });

  it('forward refuses no request that is in time by ours', async () => {
    const one = speaker();
    await one.take('warm-too');
    server.stepClock(hourMs);
    // Its clock is known anew from the answer that says it came too late.
    expect(await one.take('forward')).toBeGreaterThan(Date.now() + hourMs / 2);
  });
});

describe('a server that is not fit for leases', () => {
  it('is refused if it is a standby, and found again once it is the primary', async () => {
    const one = speaker();
    const term = await one.take('standby');
    const signal = join(server.dir, 'data', 'standby.signal');
    writeFileSync(signal, '');
    await server.restart();
    const refused = eventually(() => one.read('standby').catch((error) => error)).toBeInstanceOf(
      StoreMisconfiguredError,
    );
    await refused;
    await expect(one.read('standby')).rejects.toThrow(/standby/);
    await sql('SELECT pg_promote(true, 10)');
    await reconnected(one);
    expect(await one.renew('standby', term)).toBe('renewed');
  });

  it('is warned of if a crash of its machine could take leases with it', async () => {
    const one = speaker();
    const warnings: string[] = [];
    one.coordinator.on('warning', ({ message }) => warnings.push(message));
    await one.read('name');
    expect(warnings.join()).toMatch(/fsync is off/);
  });
});
