import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { leaseSchema } from '../../src/coordinators/sqlite/schema.js';
import { SqliteSession } from '../../src/drivers/sqlite/index.js';
import { Leases } from '../../src/leases/index.js';
import { Once } from '../../src/once/index.js';
import { sqliteOnce } from '../../src/once/sqlite/index.js';
import { sqliteCoordinator } from '../../src/sqlite.js';
import { realRuntime } from '../../src/time/index.js';

const key = 'charge/order-17';
let folder: string;
let path: string;
let once: Once;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-once-'));
  path = join(folder, 'keys.db');
  once = new Once(sqliteOnce(path), { id: 'one' });
});

afterEach(async () => {
  await once.close();
  rmSync(folder, { recursive: true });
});

/** Changes the table from outside. */
async function change(sql: string): Promise<void> {
  const user = new SqliteSession({
    ...{ what: 'a user', path, schema: leaseSchema, runtime: realRuntime },
    createDirectory: false,
  });
  await user.call('change', 'write', 5_000, (transaction) => void transaction.run(sql));
  user.close();
}

it('a key that was under way when the machine was started anew is unknown', async () => {
  let isStarted = () => {};
  const started = new Promise<void>((resolve) => {
    isStarted = resolve;
  });
  let end: (value: number) => void = () => {};
  const running = once.do(key, () => {
    isStarted();
    return new Promise<number>((resolve) => {
      end = resolve;
    });
  });
  await started;
  expect(await once.read(key)).toMatchObject({ state: 'started' });
  await change("UPDATE once_key SET boot = 'an earlier one'");
  expect(await once.read(key)).toMatchObject({ state: 'unknown', remainingMs: 0 });
  expect(await once.unknown()).toMatchObject([{ key }]);
  end(7);
  expect(await running).toBe(7);
  expect(await once.read(key)).toMatchObject({ state: 'done' });
});

it('keys stand in a file with leases, whoever comes first', async () => {
  await once.do(key, () => 1);
  const leases = new Leases(sqliteCoordinator(path));
  const lease = await leases.acquire('ledger');
  expect(lease?.state).toBe('held');
  await leases.close();
  expect(await once.do(key, () => 2)).toBe(1);
});

it('a record that somebody else has written is left alone, and its effect is not called', async () => {
  await once.do(key, () => 1);
  for (const record of ['{}', 'no JSON', '{"state":"other"}', '[]', 'null']) {
    await change(`UPDATE once_key SET record = '${record}'`);
    const effect = () => expect.fail('it was called');
    await expect(once.do(key, effect)).rejects.toMatchObject({ code: 'TENURE_RECORD_CORRUPT' });
    await expect(once.read(key)).rejects.toMatchObject({ code: 'TENURE_RECORD_CORRUPT' });
  }
});

it('nothing is known of any key in a file that nobody has written a key to', async () => {
  expect(await once.read(key)).toBeUndefined();
  expect(await once.unknown()).toEqual([]);
});
