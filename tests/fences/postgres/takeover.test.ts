import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { postgresFence } from '../../../src/fences/postgres/index.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { preparedDatabase, readData } from './subject.js';

let database: FreshDatabase;

beforeAll(async () => {
  database = await preparedDatabase(inject('postgresUrl'));
});

afterAll(async () => await database.drop());

// The child compiles its sources, which takes its time on a busy machine.
describe('an owner that is frozen between check and commit', { timeout: 60_000 }, () => {
  it('makes its successor wait for the idle limit and no longer, and commits nothing when it wakes', async () => {
    const name = freshName('frozen');
    const program = join(import.meta.dirname, 'frozen-owner.mjs');
    const child = spawn(process.execPath, [program, database.url, name, '5'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const successor = postgresFence(database.url, { idleInTransactionTimeoutMs: 1000 });
    try {
      expect((await lines.next()).value).toBe('checked');
      child.kill('SIGSTOP');
      const startedAtMs = performance.now();
      await successor.claim(tokenOf(name, 6));
      // A second by the server's clock, and some for a busy machine.
      expect(performance.now() - startedAtMs).toBeLessThan(6000);
      expect(await readData(database.url, name)).toBeUndefined();

      child.kill('SIGCONT');
      expect((await lines.next()).value).toBe('StoreRefusedError 25P03');
      await once(child, 'exit');
      expect(await readData(database.url, name)).toBeUndefined();
      expect(await successor.installedTerm(name)).toBe(6);
    } finally {
      child.kill('SIGKILL');
      await successor.close();
    }
  });
});
