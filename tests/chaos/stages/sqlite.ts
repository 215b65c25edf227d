import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqlitePlace } from '../../support/electorate/places.js';
import type { Stage } from '../stage.js';
import { noSmallDisk, SmallDisk } from './small-disk.js';
import { timingOf } from './timing.js';

/** A log grows to four before it is folded into its file, and files that were deleted stay until the last one closes them. */
const diskMiB = 48;

/** A file that all holders open. There is no server, and nothing on the way to it. */
export async function sqliteStage(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-chaos-sqlite-'));
  const disk = noSmallDisk === undefined ? SmallDisk.mount(folder, diskMiB) : undefined;
  const place = new SqlitePlace(folder);
  return {
    timing: timingOf(3_000),
    connect: async () => ({ connection: { url: place.url }, proxies: [] }),
    async calm() {
      return await place.lock();
    },
    disturbances: {
      /** Somebody's long transaction keeps everybody else from the file. */
      async 'file locked'() {
        const unlock = await place.lock();
        return async () => unlock();
      },
      async 'file deleted'() {
        place.deleteFile();
        return async () => {};
      },
      ...(disk && {
        async 'disk full'() {
          disk.fill();
          return async () => disk.free();
        },
      }),
    },
    ...(noSmallDisk !== undefined && { impossible: { 'disk full': noSmallDisk } }),
    async stop() {
      await place.close();
      await disk?.unmount();
      rmSync(folder, { recursive: true });
    },
  };
}
