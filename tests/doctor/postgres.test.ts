import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findPostgresFolder } from '../../scripts/server-binaries.mjs';
import { startInside } from '../cli/command-inside.js';
import { type PostgresServer, startPgBouncer, startPostgres } from '../support/servers/index.js';
import { unprivilegedAccount } from '../support/servers/postgres.js';
import { type Diagnosis, doctor, doctorText } from './doctor.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const password = 'hunter2-secret';

describe('the doctor on PostgreSQL', () => {
  let server: PostgresServer;
  let admin: pg.Client;
  /** What it said before there were any tables. */
  let unmigrated: Diagnosis;
  /** As the role that it printed. */
  let url: string;

  beforeAll(async () => {
    // Nothing but what is asked for writes.
    server = await startPostgres({ settings: { autovacuum: 'off' } });
    admin = new pg.Client(server.url);
    await admin.connect();
    const asLeaser = new URL(server.url);
    asLeaser.username = 'leaser';
    asLeaser.password = password;
    url = asLeaser.href;
    unmigrated = await doctor(server.url);
    expect((await startInside(['migrate', '--url', server.url]).ended).status).toBe(0);
    const least = unmigrated.leastRights.join('\n');
    await admin.query(least.replace("PASSWORD'", `${password}'`));
  });
  afterAll(async () => {
    await admin.end();
    await server.stop();
  });

  /** Executes it, and waits until the server has read its settings anew: its first process does so before ours. */
  async function reloaded(text: string): Promise<void> {
    const readAt = async () =>
      (await admin.query('SELECT pg_conf_load_time()::text AS at')).rows[0]?.at;
    const before = await readAt();
    await admin.query(text);
    await admin.query('SELECT pg_reload_conf()');
    while ((await readAt()) === before);
  }

  it('finds a database without tables, and what makes them', async () => {
    const { status, of, find } = unmigrated;
    expect(of('critical')).toEqual(['postgres-schema']);
    expect(find('postgres-schema').remedy).toContain('tenure migrate');
    expect(status).toBe(78);
    const elsewhere = await doctor(`${server.url}?schema=leases`);
    expect(elsewhere.find('postgres-schema').seen).toBe('schema leases holds no tables of leases');
  });

  it('finds nothing on a good one, as the role that it printed', async () => {
    const { status, findings } = await doctor(url, '--strict');
    expect(findings.filter(({ severity }) => severity !== 'ok')).toEqual([]);
    expect(status).toBe(0);
    const owner = await doctor(server.url, '--strict');
    expect(owner.of('note')).toEqual(['postgres-rights-broad']);
    expect(owner.status).toBe(0);
  });

  it('changes nothing there', async () => {
    // Whatever writes or notifies takes the next number of a transaction, but for a sequence.
    const state = async () => {
      const { rows } = await admin.query(
        'SELECT pg_snapshot_xmax(pg_current_snapshot()) AS next, last_value, is_called FROM tenure.enrollments',
      );
      return rows;
    };
    const before = await state();
    await doctor(server.url);
    await doctor(url);
    expect(await state()).toEqual(before);
  });

  it('names the rights that are missing', async () => {
    await admin.query('REVOKE UPDATE ON tenure.leases FROM leaser');
    const some = await doctor(url);
    expect(some.find('postgres-rights')).toMatchObject({
      severity: 'critical',
      seen: 'role leaser may not: UPDATE ON leases',
    });
    await admin.query('REVOKE USAGE ON SCHEMA tenure FROM leaser');
    const none = await doctor(url);
    await admin.query('GRANT USAGE ON SCHEMA tenure TO leaser');
    await admin.query('GRANT UPDATE ON tenure.leases TO leaser');
    expect(none.find('postgres-rights').seen).toContain('USAGE ON SCHEMA tenure');
    expect(none.find('postgres-schema').couldNotLook).toBe(true);
  });

  it('finds the settings of a role: commits that are not durable, transactions that may not write', async () => {
    await admin.query('ALTER ROLE leaser SET synchronous_commit = off');
    const forgetful = await doctor(url);
    await admin.query('ALTER ROLE leaser RESET ALL');
    expect(forgetful.of('note')).toEqual(['postgres-synchronous-commit']);
    await admin.query('ALTER ROLE leaser SET default_transaction_read_only = on');
    const reader = await doctor(url);
    await admin.query('ALTER ROLE leaser RESET ALL');
    expect(reader.of('critical')).toEqual(['postgres-read-only']);
  });

  it('finds a standby that is not synchronous, and a synchronous one that is gone', async () => {
    const folder = join(server.dir, 'received');
    const account = unprivilegedAccount();
    mkdirSync(folder);
    if (account) chownSync(folder, account.uid, account.gid);
    const program = join(findPostgresFolder() ?? '', 'pg_receivewal');
    // It is to the server what a standby is.
    const receiver = spawn(program, ['-d', server.url, '-D', folder, '--no-loop'], {
      ...account,
      stdio: 'ignore',
    });
    try {
      for (let count = 0; count === 0; )
        count = (await admin.query("SELECT FROM pg_stat_replication WHERE state = 'streaming'"))
          .rows.length;
      const { of } = await doctor(url);
      expect(of('warning')).toEqual(['postgres-standbys']);
      await admin.query('REVOKE pg_read_all_stats FROM leaser');
      const hidden = await doctor(url);
      await admin.query('GRANT pg_read_all_stats TO leaser');
      expect(hidden.find('postgres-standbys').remedy).toBe('GRANT pg_read_all_stats TO leaser');
    } finally {
      receiver.kill();
      await once(receiver, 'close');
    }
    await reloaded("ALTER SYSTEM SET synchronous_standby_names = 'gone'");
    const { find, of, status } = await doctor(url);
    await reloaded('ALTER SYSTEM RESET synchronous_standby_names');
    expect(find('postgres-standbys').risk).toContain('every commit waits');
    expect(of('critical')).toEqual(['postgres-standbys']);
    expect(status).toBe(78);
  });

  it.each([
    ['a table', 'DROP TABLE s.candidates', 'lacks table candidates'],
    ['a column', 'ALTER TABLE s.leases DROP COLUMN ttl_ms', 'lacks column leases.ttl_ms'],
    ['a function', 'DROP FUNCTION s.acquire', 'lacks function acquire'],
    ['a primary key', 'ALTER TABLE s.leases DROP CONSTRAINT leases_pkey', 'primary key of leases'],
    ['the sequence', 'DROP SEQUENCE s.enrollments', 'lacks sequence enrollments'],
    ['a table of jobs', 'DROP TABLE s.run_requests', 'lacks table run_requests of jobs'],
    ['its versions', 'DROP TABLE s.versions', 'lacks table versions'],
  ])('finds a schema that lacks %s, and says what mends it', async (_, statement, says) => {
    const part = `${server.url}?schema=partial`;
    expect((await startInside(['migrate', '--url', part]).ended).status).toBe(0);
    try {
      expect((await doctor(part)).find('postgres-schema').severity).toBe('ok');
      await admin.query(statement.replace('s.', 'partial.'));
      const { status, find, of } = await doctor(part);
      expect(of('critical')).toEqual(['postgres-schema']);
      expect(find('postgres-schema').seen).toContain(says);
      const { remedy = '' } = find('postgres-schema');
      expect(status).toBe(78);
      for (const [, command = ''] of remedy.matchAll(/`((?:ALTER|INSERT)[^`]*|tenure migrate)`/g)) {
        if (command !== 'tenure migrate') await admin.query(command);
        else await startInside(['migrate', '--url', part]).ended;
      }
      expect((await doctor(part)).of('critical')).toEqual([]);
    } finally {
      await admin.query('DROP SCHEMA IF EXISTS partial, partial_old CASCADE');
    }
  });

  it('tells a pooler in transaction mode, and one that keeps sessions', async () => {
    const transaction = await startPgBouncer(server, { poolMode: 'transaction' });
    const session = await startPgBouncer(server, { poolMode: 'session' });
    try {
      const found = await doctor(transaction.url);
      expect(found.find('postgres-pooler')).toMatchObject({
        severity: 'note',
        risk: expect.stringContaining('twice a second'),
      });
      const kept = await doctor(session.url);
      expect(kept.find('postgres-pooler')).toMatchObject({
        severity: 'ok',
        seen: expect.stringContaining('a session of its own'),
      });
    } finally {
      await transaction.stop();
      await session.stop();
    }
  });

  it('prints no password, and no line wider than a terminal', async () => {
    for (const { stdout, stderr } of [await doctorText(url), await doctorText(server.url)]) {
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
      expect(stdout + stderr).not.toContain(password);
      expect(stdout + stderr).not.toContain(new URL(server.url).password);
    }
  });

  it('tells who is let in from who is not, and from a server that is not there', async () => {
    const stranger = await doctorText(url.replace(password, 'wrong'));
    expect(stranger.status).toBe(78);
    expect((await doctorText('postgres://127.0.0.1:1/app')).status).toBe(69);
  });
});

describe('the doctor on a PostgreSQL that forgets', () => {
  it('finds what is not written to disk, and then that it has become a standby; and its clock', async () => {
    const server = await startPostgres({
      ...{ fsync: false, clock: true, settings: { full_page_writes: 'off' } },
    });
    try {
      const forgetful = await doctor(server.url);
      expect(forgetful.of('critical')).toEqual([
        ...['postgres-fsync', 'postgres-full-page-writes', 'postgres-schema'],
      ]);
      writeFileSync(join(server.dir, 'data', 'standby.signal'), '');
      await server.restart();
      expect((await doctor(server.url)).of('critical')).toContain('postgres-recovery');
      server.stepClock(3_600_000);
      expect((await doctor(server.url)).find('clock-offset').severity).toBe('critical');
    } finally {
      await server.stop();
    }
  });
});
