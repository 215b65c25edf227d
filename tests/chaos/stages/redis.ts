import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis } from '../../support/servers/redis.js';
import type { Disturbance } from '../faults/fault.js';
import type { Stage } from '../stage.js';
import {
  dataFaults,
  password,
  passwordChanged,
  serverFaults,
  user,
  userArgs,
} from './redis-server.js';
import { noSmallDisk, SmallDisk } from './small-disk.js';
import { timingOf } from './timing.js';
import { Ways } from './ways.js';

/** One Redis that writes every command to its disk. */
export async function redisStage(): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), 'tenure-chaos-redis-'));
  const disk = noSmallDisk === undefined ? SmallDisk.mount(dir, 24) : undefined;
  const server = await startRedis({ appendonly: 'always', clock: true, dir, args: userArgs });
  const ways = new Ways();
  const pick = async () => server;
  return {
    timing: timingOf(3_000),
    async connect() {
      const proxies = await ways.to([server]);
      const url = `redis://${user}:${password}@127.0.0.1:${proxies[0]?.port}`;
      return { connection: { url }, proxies };
    },
    disturbances: {
      ...serverFaults(pick),
      ...dataFaults(pick),
      'password changed': passwordChanged(async () => [server]),
      ...(disk && { 'disk full': diskFull(disk, () => server.restart({ keepData: true })) }),
    },
    ...(noSmallDisk !== undefined && { impossible: { 'disk full': noSmallDisk } }),
    async stop() {
      await ways.stop();
      await server.stop();
      await disk?.unmount();
      rmSync(dir, { recursive: true });
    },
  };
}

/** A server that writes at once to a disk with no room ends, and is started when there is room again. */
export function diskFull(disk: SmallDisk, restart: () => Promise<void>): Disturbance {
  return async () => {
    disk.fill();
    return async () => {
      disk.free();
      await restart();
    };
  };
}
