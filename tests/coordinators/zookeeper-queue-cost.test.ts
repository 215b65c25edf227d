import { afterAll, beforeAll, expect, it } from 'vitest';
import { Holder } from '../../src/index.js';
import { realRuntime } from '../../src/time/index.js';
import { type ZooKeeperCoordinator, zookeeperCoordinator } from '../../src/zookeeper.js';
import { FaultProxy } from '../support/proxy.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';
import { call, limits } from './zookeeper-fixture.js';

let server: ZooKeeperServer;
const open: ZooKeeperCoordinator[] = [];

beforeAll(async () => {
  server = await startZooKeeper();
}, 60_000);

afterAll(async () => {
  await Promise.all(open.map((client) => client.close()));
  await server.stop();
});

function client(port: number): ZooKeeperCoordinator {
  const one = zookeeperCoordinator(`zookeeper://127.0.0.1:${port}`, limits);
  open.push(one);
  return one;
}

/** The requests in what is sent: each has its length before it. Pings have the number -2. */
function requestsIn(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at + 8 <= bytes.length; at += 4 + bytes.readInt32BE(at))
    if (bytes.readInt32BE(at + 4) !== -2) count += 1;
  return count;
}

async function costOfRefresh(name: string, length: number): Promise<number> {
  const crowd = client(server.port);
  const wait = { name, standing: 'waiting', preference: 0, ttlMs: 30_000 } as const;
  for (let index = 0; index < length; index += 1) {
    const holder = Holder.create(`crowd-${index}`, realRuntime);
    await crowd.enroll([{ ...wait, holder }], call);
  }
  const proxy = await FaultProxy.start(server.port);
  const last = client(proxy.port);
  const holder = Holder.create('last', realRuntime);
  const refresh = () => last.enroll([{ ...wait, holder }], call);
  expect(await refresh()).toMatchObject([{ position: length }]);
  let count = 0;
  const heard = (bytes: Buffer) => {
    count += requestsIn(bytes);
  };
  proxy.up.set({ kind: 'overhear', heard });
  expect(await refresh()).toMatchObject([{ position: length }]);
  proxy.up.heal();
  await last.close();
  await proxy.stop();
  return count;
}

it('a refresh costs as many requests behind fifty who wait as behind five', async () => {
  const [few, many] = [await costOfRefresh('few', 5), await costOfRefresh('many', 50)];
  expect(few).toBeGreaterThan(0);
  expect(many).toBe(few);
}, 60_000);
