import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Once } from '../../src/once/index.js';
import { postgresOnce } from '../../src/once/postgres/index.js';
import { redisOnce } from '../../src/once/redis/index.js';
import { sqliteOnce } from '../../src/once/sqlite/index.js';
import { openDatabase } from '../support/sqlite-database.js';

const key = 'charge/order-17';
const options = { connectTimeoutMs: 200 };

describe('what a store of keys that is away was asked', () => {
  it.each([
    [
      'postgres',
      '127.0.0.1:1',
      () => postgresOnce('postgres://ann:secret@127.0.0.1:1/shop', options),
    ],
    ['redis', '127.0.0.1:1', () => redisOnce('redis://ann:secret@127.0.0.1:1', options)],
  ] as const)('is told with the key and the place: %s', async (_, place, open) => {
    const once = new Once(open(), { callTimeoutMs: 500 });
    const act = { by: 'dora', reason: 'no such charge' };
    for (const [words, call] of [
      ['the beginning of', () => once.do(key, () => expect.fail('it was called'))],
      ['the reading of', () => once.read(key)],
      ['the settling of', () => once.settle(key, 'not-applied', act)],
    ] as const) {
      const error: unknown = await call().catch((reason: unknown) => reason);
      expect(String(error)).toContain(`${words} the key "${key}"`);
      expect(String(error)).toContain(place);
      expect(String(error)).not.toContain('secret');
    }
    await once.close();
  });

  it('is told with the key and the place: sqlite, whose file is locked', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'tenure-once-')), 'keys.db');
    const once = new Once(sqliteOnce(path), { callTimeoutMs: 100 });
    expect(await once.read(key)).toBeUndefined();
    const other = openDatabase(path);
    other.exec('BEGIN IMMEDIATE');
    const begun = once.do(key, () => expect.fail('it was called'));
    await expect(begun).rejects.toThrow(`the beginning of the key "${key}"`);
    await expect(begun).rejects.toThrow(path);
    other.close();
    await once.close();
  });
});
