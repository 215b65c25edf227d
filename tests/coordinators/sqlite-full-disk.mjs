/**
 * Keeps a SQLite store on a disk of 512 KiB that it fills, and says, one line each, what came of writing and reading.
 * The disk is in memory, and gone with the namespace of this process.
 */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { join } from 'node:path';
import { runInNamespace } from '../support/own-namespace.mjs';

const [, self = '', folder = '', isInside] = process.argv;
if (isInside === undefined)
  process.exitCode = runInNamespace(['--mount'], [self, folder, 'inside']);
else await work();

async function work() {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tenure-test', folder]);
  register('../support/typescript-hooks.mjs', import.meta.url);
  const { sqliteCoordinator } = await import('../../src/sqlite.js');
  const coordinator = sqliteCoordinator(join(folder, 'x.db'));
  const call = { timeoutMs: 5_000 };
  await coordinator.writeDocument('doc', 'kept', 0, call);
  const filler = join(folder, 'filler');
  fill(filler);
  await tell('written', () => coordinator.writeDocument('doc', 'x'.repeat(100_000), 1, call));
  await tell('read', () => coordinator.readDocument('doc', call));
  rmSync(filler);
  await tell('with room', () => coordinator.writeDocument('doc', 'x'.repeat(100_000), 1, call));
  await coordinator.close();
  console.log('end');
}

/** @param {string} path */
function fill(path) {
  for (let size = 400; size > 0; size = Math.floor(size / 2)) {
    try {
      writeFileSync(path, Buffer.alloc(size * 1024), { flag: 'a' });
    } catch {
      // Less, then.
    }
  }
}

/**
 * @param {string} what
 * @param {() => Promise<unknown>} act
 */
async function tell(what, act) {
  try {
    console.log(`${what}: ${JSON.stringify(await act())}`);
  } catch (error) {
    console.log(`${what}: ${error}`);
  }
}
