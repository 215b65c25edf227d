import { describe, expect, it } from 'vitest';
import {
  type Electorate,
  on,
  onFile,
  onOwnRedis,
  timing,
} from '../../support/electorate/electorate.js';
import type { RedisServer } from '../../support/servers/index.js';

/*
 * A store that is killed and comes back, with all it knew or with nothing. A SQLite file has no server that could be
 * restarted: what comes nearest is that all its processes are, and that the file is gone.
 */

async function ledByTwo(electorate: Electorate) {
  const a = await electorate.standing('a');
  const { term } = await electorate.leaderAfter(0, [a]);
  const b = await electorate.standing('b');
  await electorate.untilWaiting(1);
  return { a, b, term };
}

/** The leader is frozen while the store loses everything; the next is elected at once, since nothing stands in the way. */
async function expectFence(electorate: Electorate, loseData: () => unknown): Promise<void> {
  const { a, b, term } = await ledByTwo(electorate);
  await electorate.noteTerms();
  a.signal('SIGSTOP');
  await loseData();
  electorate.dataLost();
  const next = await electorate.leaderAfter(term, [b]);
  expect(next.term).toBeGreaterThan(term);
  const late = a.write();
  a.signal('SIGCONT');
  // It may believe that it leads, by its own clock, and even be right to.
  expect(await late).toBe(false);
  await a.heard('lost');
  expect(await b.state()).toMatchObject({ state: 'held', term: next.term });
  expect(await electorate.violations()).toEqual([]);
}

describe.concurrent('a store that is killed and starts again', { timeout: 60_000 }, () => {
  it(
    'Redis, with its data: the leader goes on in its term, or the next has a higher one',
    onOwnRedis({ appendonly: 'always' }, async (electorate, server) => {
      const { a, b, term } = await ledByTwo(electorate);
      await restart(server, true);
      const how = await Promise.race([a.heard('recovered'), a.heard('lost')]);
      if (how.event === 'lost') {
        expect(how.reason).toBe('unreachable');
        await electorate.leaderAfter(term, [a, b]);
      } else {
        expect(await a.state()).toMatchObject({ state: 'held', term });
        expect(await electorate.record()).toMatchObject({ state: 'held', term });
      }
      expect(await electorate.violations()).toEqual([]);
      // Terms go on to rise.
      await a.kill();
      await restart(server, true);
      const next = await electorate.leaderAfter(term, [b]);
      expect(next.term).toBeGreaterThan(term);
      expect(await electorate.violations()).toEqual([]);
    }),
  );

  it(
    'Redis, without its data: the leader loses its term, and the next one is higher',
    onOwnRedis({}, async (electorate, server) => {
      const { a, b, term } = await ledByTwo(electorate);
      await electorate.noteTerms();
      await restart(server, false);
      electorate.dataLost();
      expect((await a.heard('lost')).reason).toMatch(/^(vanished|superseded|unreachable)$/);
      const next = await electorate.leaderAfter(term, [a, b]);
      expect(next.term).toBeGreaterThan(term);
      expect(await electorate.violations()).toEqual([]);
    }),
  );

  it(
    'Redis, without its data, while the leader is frozen: its late write is refused',
    onOwnRedis({}, (electorate, server) => expectFence(electorate, () => restart(server, false))),
  );

  it(
    'SQLite, all of whose processes are killed: the next ones wait until the old lease is over, and lead in a higher term',
    on('SQLite', async (electorate) => {
      const { a, b, term } = await ledByTwo(electorate);
      await Promise.all([a.kill(), b.kill()]);
      const record = await electorate.record();
      if (record?.state !== 'held') expect.fail('its lease is not over yet');
      const c = await electorate.standing('c');
      const next = await electorate.leaderAfter(term, [c]);
      expect(next.term).toBeGreaterThan(term);
      const [first, second] = await electorate.history();
      if (first?.kind !== 'term' || second?.kind !== 'term') expect.fail('two have led');
      expect(first).toMatchObject({ term, endReason: 'expired' });
      expect(first.endedAtMs).toBeCloseTo(record.renewedAtMs + timing.ttlMs, -1);
      expect(second.grantedAtMs).toBeGreaterThanOrEqual(first.endedAtMs ?? 0);
      expect(await electorate.violations()).toEqual([]);
    }),
  );

  it(
    'SQLite, whose file is deleted: the leader loses its term, and the next one is higher',
    onFile(async (electorate, file) => {
      const { a, b, term } = await ledByTwo(electorate);
      await electorate.noteTerms();
      file.deleteFile();
      electorate.dataLost();
      expect((await a.heard('lost')).reason).toMatch(/^(vanished|superseded)$/);
      const next = await electorate.leaderAfter(term, [a, b]);
      expect(next.term).toBeGreaterThan(term);
      expect(await electorate.violations()).toEqual([]);
    }),
  );

  it(
    'SQLite, whose file is deleted while the leader is frozen: its late write is refused',
    onFile((electorate, file) => expectFence(electorate, () => file.deleteFile())),
  );
});

async function restart(server: RedisServer, keepData: boolean): Promise<void> {
  await server.kill();
  await server.restart({ keepData });
}
