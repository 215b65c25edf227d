import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StaleTermError } from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { sqliteFence } from '../../../src/fences/sqlite/index.js';
import { NodeProgram } from '../../support/node-program.js';
import { openDatabase, type PreparedFile, preparedFile, readData } from './subject.js';

let file: PreparedFile;

beforeAll(async () => {
  file = await preparedFile();
});

afterAll(() => file.remove());

const program = join(import.meta.dirname, 'dying-writer.mjs');

// The child compiles its sources, which takes its time on a busy machine.
describe('a writer that is killed', { timeout: 60_000 }, () => {
  it.each([
    ['inside its transaction has written nothing, and makes room at once', 'inside', 6],
    ['just after its commit has kept its term, its effect and what it wrote', 'after', 7],
  ])('%s', async (_what, when, installedTerm) => {
    const name = freshName(when);
    const fence = sqliteFence(file.path);
    await fence.claim(tokenOf(name, 6));
    const child = new NodeProgram([program, file.path, name, '7', when]);
    try {
      await child.says(/^ready$/, 50_000);
      await child.kill();
      expect(await fence.installedTerm(name)).toBe(installedTerm);
      await expect(fence.claim(tokenOf(name, 5))).rejects.toBeInstanceOf(StaleTermError);
      const database = openDatabase(file.path);
      expect(readData(database, name)).toBe(when === 'after' ? 'from the child' : undefined);
      database.close();
      const isNew = await fence.transaction(tokenOf(name, 8), (open) =>
        fence.recordOnce(open, name, 'key', 1, 'm1'),
      );
      expect(isNew).toBe(when === 'inside');
    } finally {
      await child.kill();
      await fence.close();
    }
  });
});
