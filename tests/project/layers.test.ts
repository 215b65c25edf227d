import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

const projectRoot = join(import.meta.dirname, '../..');
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A small tree in which every layer is there and every import is allowed. */
const sound: Readonly<Record<string, string>> = {
  'errors/index.ts': 'export class TenureError extends Error {}',
  'time/index.ts': "export { TenureError } from '../errors/index.js';",
  'events/index.ts': "export { TenureError } from '../errors/index.js';",
  'drivers/redis/index.ts': "import { Redis } from 'ioredis'; export const driver = Redis;",
  'drivers/postgres/index.ts': "import pg from 'pg'; export const driver = pg;",
  'coordinators/index.ts': "export { TenureError } from '../time/index.js';",
  'coordinators/memory/index.ts': "export { TenureError as Memory } from '../index.js';",
  'drivers/sqlite/index.ts': "import libsql from 'libsql'; export const driver = libsql;",
  'coordinators/sqlite/index.ts': "export { driver } from '../../drivers/sqlite/index.js';",
  'coordinators/redis/index.ts': "export { driver } from '../../drivers/redis/index.js';",
  'leases/index.ts': "export { TenureError as Lease } from '../coordinators/index.js';",
  'shards/index.ts': "export { Lease as Shard } from '../leases/index.js';",
  'fences/index.ts': "export { Lease as Fence } from '../leases/index.js';",
  'fences/postgres/index.ts': "export { driver } from '../../drivers/postgres/index.js';",
  'streams/index.ts': "export { Shard as Stream } from '../shards/index.js';",
  'index.ts': "export { Lease } from './leases/index.js';",
  'memory.ts': "export { Memory } from './coordinators/memory/index.js';",
  'sqlite.ts': "export { driver } from './coordinators/sqlite/index.js';",
  'redis.ts': "export { driver } from './coordinators/redis/index.js';",
  'testing.ts': "export { Memory } from './memory.js';",
  'cli/main.ts': "import 'commander'; import '../redis.js';",
};

async function checkLayers(
  changes: Readonly<Record<string, string>>,
  options: { readonly modules?: boolean } = {},
): Promise<{ passed: boolean; output: string }> {
  const root = mkdtempSync(join(tmpdir(), 'tenure-layers-'));
  folders.push(root);
  if (options.modules) symlinkSync(join(projectRoot, 'node_modules'), join(root, 'node_modules'));
  mkdirSync(join(root, 'src'));
  for (const [path, text] of Object.entries(changes)) {
    const file = join(root, 'src', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${text}\n`);
  }
  return runLayers(root);
}

function runLayers(root: string): Promise<{ passed: boolean; output: string }> {
  const script = join(projectRoot, 'scripts/layers.mjs');
  return new Promise((resolve) => {
    execFile(process.execPath, [script, root], (error, stdout, stderr) => {
      resolve({ passed: error === null, output: stdout + stderr });
    });
  });
}

/** Each entry: what is planted, and the line that must report it. */
const planted: readonly (readonly [file: string, text: string, report: string])[] = [
  [
    'errors/up.ts',
    "import { TenureError } from '../time/index.js'; export { TenureError };",
    'layer-errors-imports-down-only: src/errors/up.ts -> src/time/index.ts',
  ],
  [
    'time/sideways.ts',
    "export * from '../events/index.js';",
    'layer-time-imports-down-only: src/time/sideways.ts -> src/events/index.ts',
  ],
  [
    'leases/type-only.ts',
    "import type { Stream } from '../streams/index.js'; export type Of = Stream;",
    'layer-leases-imports-down-only: src/leases/type-only.ts -> src/streams/index.ts',
  ],
  [
    'coordinators/inline-type.ts',
    "export type Of = import('../leases/index.js').Lease;",
    'layer-coordinators-imports-down-only: src/coordinators/inline-type.ts -> src/leases/index.ts',
  ],
  [
    'coordinators/dynamic.ts',
    "export const load = () => import('../shards/index.js');",
    'layer-coordinators-imports-down-only: src/coordinators/dynamic.ts -> src/shards/index.ts',
  ],
  [
    'fences/sideways.ts',
    "export * from '../shards/index.js';",
    'layer-fences-imports-down-only: src/fences/sideways.ts -> src/shards/index.ts',
  ],
  [
    'elections/sideways.ts',
    "export * from '../fences/index.js';",
    'layer-elections-imports-down-only: src/elections/sideways.ts -> src/fences/index.ts',
  ],
  [
    'shards/entry.ts',
    "export * from '../memory.js';",
    'layer-shards-imports-down-only: src/shards/entry.ts -> src/memory.ts',
  ],
  [
    'streams/face.ts',
    "export * from '../cli/main.js';",
    'layer-streams-imports-down-only: src/streams/face.ts -> src/cli/main.ts',
  ],
  [
    'streams/client.ts',
    "import type { Redis } from 'ioredis'; export type Client = Redis;",
    'client-ioredis-only-in-its-store-rooms: src/streams/client.ts -> ',
  ],
  [
    'coordinators/redis/wrong-client.ts',
    "import pg from 'pg'; export { pg };",
    'client-pg-only-in-its-store-rooms: src/coordinators/redis/wrong-client.ts -> ',
  ],
  [
    'coordinators/redis/file.ts',
    "import libsql from 'libsql'; export { libsql };",
    'client-libsql-only-in-its-store-rooms: src/coordinators/redis/file.ts -> ',
  ],
  [
    'coordinators/memory/file.ts',
    "export * from '../../drivers/sqlite/index.js';",
    'driver-sqlite-only-in-its-store-rooms: src/coordinators/memory/file.ts -> src/drivers/sqlite/index.ts',
  ],
  [
    'cli/driver.ts',
    "export * from '../drivers/redis/index.js';",
    'driver-redis-only-in-its-store-rooms: src/cli/driver.ts -> src/drivers/redis/index.ts',
  ],
  [
    'fences/parser.ts',
    "export { Command } from 'commander';",
    'commander-only-in-cli: src/fences/parser.ts -> ',
  ],
  [
    'postgres.ts',
    "import './cli/main.js';",
    'entry-imports-no-face: src/postgres.ts -> src/cli/main.ts',
  ],
  [
    'leases/typo.ts',
    "export * from './no-such-file.js';",
    'no-unresolvable-imports: src/leases/typo.ts -> ',
  ],
  [
    'leases/circle.ts',
    "export * from './circle.js';",
    'no-cycles: src/leases/circle.ts -> src/leases/circle.ts',
  ],
  [
    'leases/lease.ts',
    "export * from './index.js'; export type { Own } from './renewer.js';",
    'no-cycles: src/leases/lease.ts -> src/leases/renewer.ts -> src/leases/lease.ts',
  ],
  [
    'leases/renewer.ts',
    "import type { Lease } from './lease.js'; export type Own = Lease;",
    'no-cycles: src/leases/lease.ts -> src/leases/renewer.ts -> src/leases/lease.ts',
  ],
  ['misc/stranger.ts', 'export const stray = 1;', 'known-room: src/misc/stranger.ts'],
  ['other-entry.ts', 'export const stray = 1;', 'known-room: src/other-entry.ts'],
];

describe('the layer rule', () => {
  it('accepts the sources of this project', async () => {
    const { passed, output } = await runLayers(projectRoot);
    expect(output).toMatch(/^layers: \d+ modules, imports point down$/m);
    expect(passed).toBe(true);
  });

  it.each([
    ['installed', true],
    ['absent', false],
  ])('accepts a sound tree with its packages %s', async (_, modules) => {
    const { passed, output } = await checkLayers(sound, { modules });
    expect(output).toBe(`layers: ${Object.keys(sound).length} modules, imports point down\n`);
    expect(passed).toBe(true);
  });

  it.each([
    ['installed', true],
    ['absent', false],
  ])('reports every planted violation with its packages %s', async (_, modules) => {
    const plants = Object.fromEntries(planted.map(([file, text]) => [file, text]));
    const { passed, output } = await checkLayers({ ...sound, ...plants }, { modules });
    const lines = output.split('\n');
    const unreported = planted
      .map(([, , report]) => report)
      .filter((report) => !lines.some((line) => line.startsWith(report)));
    expect(unreported).toEqual([]);
    expect(passed).toBe(false);
  });

  it.each([
    ['a store room', 'coordinators/memory/index.js'],
    ['a room that loads its client late', 'coordinators/sqlite/index.js'],
    ['a driver', 'drivers/redis/index.js'],
    ['the command line', 'cli/main.js'],
  ])('keeps %s out of the core entry, however far down it is imported', async (_, target) => {
    const { passed, output } = await checkLayers({
      ...sound,
      'leases/index.ts': "export { Lease } from './far.js';",
      'leases/far.ts': `import '../${target}'; export class Lease {}`,
    });
    expect(output).toContain('core-entry-is-store-free: src/index.ts -> ');
    expect(passed).toBe(false);
  });

  it('does not pass when it reads nothing', async () => {
    const { passed, output } = await checkLayers({});
    expect(output).toContain('no-empty-cruise');
    expect(passed).toBe(false);
  });

  it('does not pass when it reads fewer files than there are', async () => {
    const { passed, output } = await checkLayers({
      ...sound,
      'leases/node_modules/hidden.ts': "import '../../cli/main.js';",
    });
    expect(output).toContain('module-count: ');
    expect(passed).toBe(false);
  });
});
