import { afterAll, beforeAll, expect, it } from 'vitest';
import { etcdCoordinator } from '../../src/etcd.js';
import { type Coordinator, Holder } from '../../src/index.js';
import { realRuntime } from '../../src/time/index.js';
import { FaultProxy } from '../support/proxy.js';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { call } from './etcd-stage.js';

let cluster: EtcdCluster;
const open: Coordinator[] = [];

beforeAll(async () => {
  cluster = await startEtcd();
}, 60_000);

afterAll(async () => {
  await Promise.all(open.map((client) => client.close()));
  await cluster.stop();
});

function client(url: string): Coordinator {
  const one = etcdCoordinator(url);
  open.push(one);
  return one;
}

const countOf = (text: string, word: string): number => text.split(word).length - 1;

/** How many requests a refresh of the last takes, and how many keys are answered. */
async function costOfRefresh(name: string, length: number) {
  const crowd = client(cluster.url);
  const wait = { name, standing: 'waiting', preference: 0, ttlMs: 30_000 } as const;
  for (let index = 0; index < length; index += 1) {
    const holder = Holder.create(`crowd-${index}`, realRuntime);
    await crowd.enroll([{ ...wait, holder }], call);
  }
  const [member] = cluster.members;
  const proxy = await FaultProxy.start(member?.port ?? 0);
  const last = client(`etcd://127.0.0.1:${proxy.port}`);
  const holder = Holder.create('last', realRuntime);
  const refresh = () => last.enroll([{ ...wait, holder }], call);
  expect(await refresh()).toMatchObject([{ position: length }]);
  let [sent, answered] = ['', ''];
  const overhear = (heard: (bytes: Buffer) => void) => ({ kind: 'overhear', heard }) as const;
  proxy.up.set(overhear((bytes) => (sent += bytes.toString('latin1'))));
  proxy.down.set(overhear((bytes) => (answered += bytes.toString('latin1'))));
  expect(await refresh()).toMatchObject([{ position: length }]);
  await last.close();
  await proxy.stop();
  return { requests: countOf(sent, 'POST '), keys: countOf(answered, '"create_revision"') };
}

it('a refresh reads as many keys, in as many requests, behind fifty who wait as behind five', async () => {
  const [few, many] = [await costOfRefresh('few', 5), await costOfRefresh('many', 50)];
  expect(few.keys).toBeGreaterThan(0);
  expect(many).toEqual(few);
}, 60_000);
