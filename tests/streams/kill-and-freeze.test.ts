import { randomInt } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ensureBuilt } from '../../scripts/bootstrap.mjs';
import { createLedger, judge } from '../support/fleet/ledger.js';
import { noViolations, runFleet, violationsOf } from '../support/fleet/run.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';

// Workers import the package by its name, so what runs is what was built.
beforeAll(() => ensureBuilt());

describe('stream workers as processes', () => {
  it('are killed, frozen and drained, and lose, double and misplace nothing', async () => {
    const report = await runFleet({
      seed: randomInt(2 ** 31),
      redisUrl: inject('redisUrl'),
      postgresUrl: inject('postgresUrl'),
      disturbedMs: 4_000,
      messageCount: 500,
    });
    const { verdict, backlogCount, accidents, summary, output } = report;
    expect(accidents, summary).toEqual([]);
    expect(backlogCount, `${summary}\n${output}`).toBe(0);
    expect(violationsOf(verdict), `${summary}\n${output}`).toEqual(noViolations);
  }, 120_000);
});

describe('the witness against them', () => {
  /** Key, seq, shard, term, holder of each write, in order; and what is wrong with them all. */
  const cases = {
    'nothing at all': { writes: ['a 1 0 7 x', 'a 2 0 8 y', 'b 1 1 5 x'], found: {} },
    'a lost message': { writes: ['a 1 0 7 x', 'b 1 1 5 x'], found: { lost: 1 } },
    'a doubled one': {
      writes: ['a 1 0 7 x', 'a 2 0 8 y', 'a 2 0 8 y', 'b 1 1 5 x'],
      found: { doubled: 1, outOfOrder: 1 },
    },
    'one that nobody published': {
      writes: ['a 1 0 7 x', 'a 2 0 7 x', 'a 3 0 7 x', 'b 1 1 5 x'],
      found: { foreign: 1 },
    },
    'two in the wrong order': {
      writes: ['a 2 0 7 x', 'a 1 0 7 x', 'b 1 1 5 x'],
      found: { outOfOrder: 2 },
    },
    'an old term': {
      writes: ['a 1 0 8 y', 'a 2 0 7 x', 'b 1 1 5 x'],
      found: { acceptedStale: 1 },
    },
    'one below an installed term': {
      writes: ['a 1 0 7 x', 'a 2 0 7 x', 'b 1 2 5 x'],
      found: { acceptedStale: 1 },
    },
    'a term with two holders': {
      writes: ['a 1 0 7 x', 'a 2 0 7 y', 'b 1 1 5 x'],
      found: { sharedTerms: 1 },
    },
  };

  let database: FreshDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await freshPostgresDatabase(inject('postgresUrl'));
    await createLedger(database.url, 3, [
      { key: 'a', seq: 1, id: 'message-1' },
      { key: 'a', seq: 2, id: 'message-2' },
      { key: 'b', seq: 1, id: 'message-1' },
    ]);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query("INSERT INTO tenure.fences VALUES ('fleet/shards/2', 6, 'y')");
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each(Object.entries(cases))('finds %s', async (_, { writes, found }) => {
    await client.query('TRUNCATE writes');
    for (const write of writes) {
      const [key, seq, ...owner] = write.split(' ');
      await client.query(
        `INSERT INTO writes (kind, key, seq, id, shard, term, holder)
         VALUES ('effect', $1, $2, $3, $4, $5, $6)`,
        [key, seq, `message-${seq}`, ...owner],
      );
    }
    expect(violationsOf(await judge(database.url))).toEqual({ ...noViolations, ...found });
  });
});
