import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { StaleTermError } from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { postgresFence } from '../../../src/fences/postgres/index.js';
import { database, fence, limits, pool, useDatabase } from './stage.js';
import { openPool, put, readData, wrapped } from './subject.js';

useDatabase();

describe('the session of a transaction under the PostgreSQL fence', () => {
  it('gives the client back in good order, with no listener of ours left on it', async () => {
    const name = freshName('reuse');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    await fence.transaction(token, (client) => put(client, name, 'kept'));
    await expect(fence.claim(tokenOf(name, 4))).rejects.toBeInstanceOf(StaleTermError);
    const failure = new Error('mine');
    const attempt = fence.transaction(token, async () => await Promise.reject(failure));
    await expect(attempt).rejects.toBe(failure);
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    const client = await pool.connect();
    expect(client.listenerCount('error')).toBe(0);
    const { rows } = await client.query('SHOW idle_in_transaction_session_timeout');
    expect(rows[0]).toEqual({ idle_in_transaction_session_timeout: '0' });
    client.release();
  });

  it('limits how long an owner whose term is installed may stand idle, and keeps a shorter limit', async () => {
    const name = freshName('idle-limit');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    const cases = { '0': '1s', '500ms': '500ms', '2min': '1s', '1d': '1s', '1s': '1s' };
    for (const [session, expected] of Object.entries(cases)) {
      const options = { options: `-c idle_in_transaction_session_timeout=${session}` };
      const own = openPool(database.url, options);
      const onOwn = postgresFence<pg.PoolClient>(own, limits);
      const limit = () =>
        onOwn.transaction(
          token,
          async (client) =>
            (await client.query('SHOW idle_in_transaction_session_timeout')).rows[0]
              .idle_in_transaction_session_timeout,
        );
      // The first one may have found out only that sessions are to be limited here.
      expect([await limit(), await limit()], session).toEqual([expected, expected]);
      await own.end();
    }
  });

  it('rolls back an owner of an installed term that idles too long', async () => {
    const name = freshName('idle-installed');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    const attempt = fence.transaction(token, async (client) => {
      await put(client, name, 'too late');
      await new Promise((resolve) => client.once('error', resolve));
    });
    await expect(attempt).rejects.toMatchObject({ storeCode: '25P03' });
    expect(await readData(database.url, name)).toBeUndefined();
  });

  it('keeps a shorter idle limit of the session and lowers a longer or absent one', async () => {
    const name = freshName('limit');
    const token = tokenOf(name, 5);
    const limitUnder = async (setting: string) => {
      const client = await pool.connect();
      try {
        await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = '${setting}'`);
        await fence.check(client, token);
        const { rows } = await client.query('SHOW idle_in_transaction_session_timeout');
        return rows[0].idle_in_transaction_session_timeout;
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    };
    // First as a check that installs the term, then as one that finds it installed.
    expect(await limitUnder('0')).toBe('1s');
    expect(await limitUnder('500ms')).toBe('500ms');
    await fence.claim(token);
    expect(await limitUnder('0')).toBe('1s');
    expect(await limitUnder('500ms')).toBe('500ms');
    expect(await limitUnder('2min')).toBe('1s');
    expect(await limitUnder('1d')).toBe('1s');
  });

  it('rolls back an owner that idles too long, and says so', async () => {
    const name = freshName('idle');
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      await put(client, name, 'too late');
      await new Promise((resolve) => client.once('error', resolve));
    });
    await expect(attempt).rejects.toMatchObject({ storeCode: '25P03' });
    expect(await readData(database.url, name)).toBeUndefined();
    expect(pool.totalCount).toBe(0);
  });

  it('commits durably whatever the session says: terms that were there, and effects', async () => {
    const name = freshName('durable');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    const settingOf = async (client: pg.PoolClient) =>
      (await client.query('SHOW synchronous_commit')).rows[0].synchronous_commit;
    const cases = {
      off: 'on',
      local: 'on',
      remote_write: 'on',
      on: 'on',
      remote_apply: 'remote_apply',
    };
    for (const [session, expected] of Object.entries(cases)) {
      const options = { options: `-c synchronous_commit=${session}` };
      const lax = openPool(database.url, options);
      const onLax = postgresFence<pg.PoolClient>(lax);
      expect(await onLax.transaction(token, settingOf), session).toBe(expected);
      const client = await lax.connect();
      await client.query('BEGIN');
      await onLax.recordOnce(client, name, session, 1, 'm1');
      expect(await settingOf(client), session).toBe(expected);
      await client.query('COMMIT');
      expect(await settingOf(client), session).toBe(session);
      client.release();
      await lax.end();
    }
  });

  it('has the same limits and durability however it begins: watched, with a mark, or under a new term', async () => {
    const claimed = tokenOf(freshName('alike'), 5);
    await fence.claim(claimed);
    const sessions = [
      ['0', 'off', '1s', 'on'],
      ['2min', 'local', '1s', 'on'],
      ['500ms', 'remote_apply', '500ms', 'remote_apply'],
      ['1s', 'on', '1s', 'on'],
    ] as const;
    const text = `SELECT current_setting('idle_in_transaction_session_timeout') AS idle,
      current_setting('synchronous_commit') AS durability`;
    for (const [idleLimit, commit, idle, durability] of sessions) {
      const options = `-c idle_in_transaction_session_timeout=${idleLimit} -c synchronous_commit=${commit}`;
      const own = openPool(database.url, { options });
      const watched = postgresFence<pg.PoolClient>(own, limits);
      const marked = postgresFence<pg.PoolClient>(wrapped(own), limits);
      const seen = async (client: pg.PoolClient) => (await client.query(text)).rows[0];
      const begun = {
        watched: await watched.transaction(claimed, seen),
        again: await watched.transaction(claimed, seen),
        marked: await marked.transaction(claimed, seen),
        new: await watched.transaction(tokenOf(freshName('alike-new'), 5), seen),
      };
      const expected = { idle, durability };
      const alike = { watched: expected, again: expected, marked: expected, new: expected };
      expect(begun, options).toEqual(alike);
      await own.end();
    }
  });
});
