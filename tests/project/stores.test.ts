import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/bootstrap.mjs';
import { knownStores, leftOut, selectedStores, storeOf } from '../../scripts/stores.mjs';

describe('TENURE_STORES', () => {
  it('is not needed: all stores are tested', () => {
    expect(selectedStores({})).toEqual(knownStores);
    expect(selectedStores({ TENURE_STORES: ' , ' })).toEqual(knownStores);
    expect(selectedStores({ CI: 'true' })).toEqual(knownStores);
  });

  it('names the stores of a local run', () => {
    expect(selectedStores({ TENURE_STORES: 'redis, memory' })).toEqual(['memory', 'redis']);
  });

  it('that names what is no store is an error that lists them', () => {
    const message = /names mysql, which is no store known here: use some of memory,sqlite,redis/;
    expect(() => selectedStores({ TENURE_STORES: 'redis,mysql' })).toThrow(message);
  });

  it('leaves nothing out under CI', () => {
    const environment = { CI: 'true', TENURE_STORES: 'memory,redis' };
    expect(() => selectedStores(environment)).toThrow(/leaves out sqlite, .*etcd, zookeeper/);
    expect(selectedStores({ CI: 'true', TENURE_STORES: knownStores.join(',') })).toEqual(
      knownStores,
    );
  });

  it.each([
    ['coordinators/redis-conformance.test.ts', 'redis'],
    ['coordinators/redis-quorum-terms.test.ts', 'redis-quorum'],
    ['coordinators/redis.test.ts', 'redis'],
    ['drivers/redis/link.test.ts', 'redis'],
    ['drivers/redis/redis-sentinel.test.ts', 'redis-sentinel'],
    ['fences/postgres/fence.test.ts', 'postgres'],
    ['coordinators/redistribution.test.ts', undefined],
    ['leases/waiting-on-stores.test.ts', undefined],
  ])('takes %s for a file of %s', (path, store) => {
    expect(storeOf(path)).toBe(store);
  });

  it('leaves out what belongs to another store, and nothing else', () => {
    const files = ['/t/etcd-faults.test.ts', '/t/memory.test.ts', '/t/leases/acquire.test.ts'];
    expect(leftOut(files, '/t', ['memory'])).toEqual(['/t/etcd-faults.test.ts']);
  });

  it.each(knownStores)('can name %s because the conformance suite runs on it', (store) => {
    const file = `tests/coordinators/${store}-conformance.test.ts`;
    expect(existsSync(join(root, file)), file).toBe(true);
  });

  it('can name every store on which that suite runs', () => {
    const stores = readdirSync(join(root, 'tests/coordinators')).flatMap(
      (file) => /^(.+)-conformance\.test\.ts$/.exec(file)?.[1] ?? [],
    );
    expect(stores.sort()).toEqual([...knownStores].sort());
  });
});
