import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EtcdKeys } from '../../src/coordinators/etcd/keys.js';
import { Holder } from '../../src/coordinators/index.js';
import {
  EtcdClient,
  type EtcdKeyValue,
  etcdLocation,
  type KeyRange,
} from '../../src/drivers/etcd/index.js';
import { RecordCorruptError } from '../../src/errors/index.js';
import { type EtcdCoordinator, etcdCoordinator, etcdFence } from '../../src/etcd.js';
import { FenceKeys } from '../../src/fences/etcd/keys.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { damaged, foreignTexts, wrongJson } from './damage.js';
import { abuseFence, installed } from './fence-scene.js';
import { useHostileAtFence, useHostileNames } from './hostile-use.js';
import { fewOrAll, longestMs } from './rounds.js';
import { abuse, type Place, standings } from './scene.js';

let cluster: EtcdCluster;
let admin: EtcdClient;
const open: EtcdCoordinator[] = [];
let namespaceCount = 0;

beforeAll(async () => {
  cluster = await startEtcd();
  const location = etcdLocation(cluster.url, undefined);
  admin = new EtcdClient({ what: 'the operator', location, runtime: realRuntime });
});
afterAll(async () => {
  for (const one of open) await one.close();
  admin?.close();
  await cluster?.stop();
});

function newSpace() {
  const namespace = `fuzz/${namespaceCount++}`;
  const coordinator = etcdCoordinator(cluster.url, { namespace });
  open.push(coordinator);
  return { coordinator, keys: new EtcdKeys('', namespace) };
}

async function look(range: KeyRange | { key: string }): Promise<readonly EtcdKeyValue[]> {
  const { found } = await admin.read([{ kind: 'get', range }], 'a look', admin.deadline(10_000));
  return found[0] ?? [];
}

function put({ key, lease }: Pick<EtcdKeyValue, 'key' | 'lease'>, value: string) {
  const operation = { kind: 'put', key, value, lease } as const;
  return admin.txn([], [operation], 'a text', admin.deadline(10_000));
}

describe('hostile names in etcd', () => {
  it('work as they are, none as another', async () => {
    const namespace = `*{}[]'"\\%?$;-- é`;
    const coordinator = etcdCoordinator(cluster.url, { namespace, prefix: '/a\0b/*' });
    open.push(coordinator);
    await useHostileNames(coordinator);
  });

  it('work so at a fence', async () => {
    const fence = etcdFence(cluster.url, { namespace: '*{}', prefix: '/\n%', ...call });
    await useHostileAtFence(fence);
    await fence.close();
  });
});

describe('what stands in etcd at a fence and was meddled with', () => {
  it('lets nobody pass, and is told with its remedy', async () => {
    const namespace = `fuzz/${process.pid}`;
    const fence = etcdFence(cluster.url, { namespace, ...call });
    const keys = new FenceKeys('', namespace);
    const valid = `1|7|${installed.holder.digest}`;
    const isOurs = (text: string) => /^1\|[1-9]\d{0,14}\|[0-9a-f]{32}$/.test(text);
    const stored = damaged(valid, 4).map((text) => Buffer.from(text).toString());
    const texts = [...new Set(stored)].filter((text) => !isOurs(text));
    const absurd = ['8640000000000001', '9007199254740993', '9'.repeat(400)];
    const wrong = await abuseFence({
      fence,
      meddlings: [
        ...fewOrAll(texts, 25, 2),
        ...absurd.map((term) => valid.replace('|7|', `|${term}|`)),
      ].map((text) => ({
        what: JSON.stringify(text),
        spoils: 'term' as const,
        spoil: (name: string) => put({ key: keys.term(name), lease: '0' }, text),
      })),
      write: (batch, key, value) => batch.put(key, value),
      read: async (key) => (await look({ key }))[0]?.value,
      recordOf: (name) => `in etcd under the fence's key of "${name}"`,
    });
    await fence.close();
    expect(wrong).toEqual([]);
  });
});

describe('what stands in etcd under a name and was meddled with', () => {
  it.each(standings)(
    'is told by type, and the name is granted to nobody: %s',
    async (standing) => {
      const { coordinator, keys } = newSpace();
      const placesOf = async (name: string): Promise<Place[]> => {
        const parts = (['after', 'suspended', 'history', 'document'] as const).map((part) => ({
          key: keys.part(part, name),
        }));
        const ranges = [keys.queue(name), keys.candidates(name), keys.waiting(name), ...parts];
        const found = (await Promise.all(ranges.map(look))).flat();
        return found.flatMap((kv, index) =>
          damages(kv.value, index + standings.indexOf(standing)).map((text) => ({
            what: `${kv.key.split('/').slice(2, 5).join('/')} = ${text.slice(0, 300)}`,
            spoil: () => put(kv, text),
          })),
        );
      };
      const { wrong, count } = await abuse(coordinator, standing, placesOf, 16);
      expect(wrong).toEqual([]);
      expect(count).toBeGreaterThan(15);
    },
    longestMs,
  );

  it('lifts no suspension, though nobody holds the name: neither for who asks nor for who resumes', async () => {
    const { coordinator, keys } = newSpace();
    const operator = { by: 'ops', reason: 'drill' };
    for (const [index, text] of foreignTexts.filter(isStorable).entries()) {
      const name = `name-${index}`;
      await coordinator.suspend(name, operator, call);
      await put({ key: keys.part('suspended', name), lease: '0' }, text);
      expect(await acquire(coordinator, name), text.slice(0, 100)).toBe('corrupt');
      for (const ask of [
        () => coordinator.read([name], call),
        () => coordinator.resume(name, operator, call),
        () => coordinator.suspend(name, operator, call),
      ])
        await expect(ask(), text.slice(0, 100)).rejects.toThrow(RecordCorruptError);
    }
  });

  it('is no document that nobody has written yet', async () => {
    const { coordinator, keys } = newSpace();
    for (const text of ['', 'foreign', '{"tenure":1,"version":-1,"text":""}', '{"tenure":2}']) {
      await put({ key: keys.part('document', 'pins'), lease: '0' }, text);
      await expect(coordinator.readDocument('pins', call)).rejects.toThrow(RecordCorruptError);
      const writing = coordinator.writeDocument('pins', 'new', 0, call);
      await expect(writing).rejects.toThrow(RecordCorruptError);
    }
  });

  it('is no reason to count terms anew: without what they are counted from none is granted', async () => {
    const { coordinator, keys } = newSpace();
    expect(await acquire(coordinator, 'first')).toBe('granted');
    for (const text of ['', 'foreign', '{"tenure":2}', '{"tenure":1,"offset":1e999}', '{}']) {
      await put({ key: keys.space, lease: '0' }, text);
      expect(await acquire(coordinator, 'second')).toBe('corrupt');
      const act = { by: 'ops', reason: 'drill' };
      await expect(coordinator.suspend('third', act, call)).rejects.toThrow(RecordCorruptError);
      expect((await look({ key: keys.space }))[0]?.value).toBe(text);
    }
  });
});

async function acquire(coordinator: EtcdCoordinator, name: string) {
  const holder = Holder.create('bob', realRuntime);
  const request = { name, holder, attempt: realRuntime.randomHex(16), ttlMs: 30_000 };
  return (await coordinator.acquire([request], call))[0]?.outcome;
}

/** Half a surrogate pair cannot be stored as such by our own client. */
function isStorable(text: string): boolean {
  return text.isWellFormed();
}

function damages(valid: string, seed: number): string[] {
  const values = ['null', '"x"', '[]', '{"toString":1,"valueOf":1}', '1e999'];
  const fields = valid.startsWith('{') ? wrongJson(valid, values) : [];
  return [
    ...fewOrAll(foreignTexts.filter(isStorable), 1, seed),
    ...fewOrAll([valid.slice(0, -1), valid.slice(0, valid.length / 2)], 1, seed),
    ...fewOrAll(fields, 2, seed),
  ];
}
