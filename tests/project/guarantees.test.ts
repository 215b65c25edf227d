import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/bootstrap.mjs';
import { knownStores } from '../../scripts/stores.mjs';

const page = readFileSync(join(root, 'docs/guarantees.md'), 'utf8');
const named = [...page.matchAll(/`((?:coordinators|elections|drivers)\/[\w/-]+)`/g)].map(
  ([, file = '']) => file,
);

describe('the page of guarantees', () => {
  it.each([...new Set(named)])('names a test that is there: %s', (file) => {
    expect(existsSync(join(root, 'tests', `${file}.test.ts`))).toBe(true);
  });

  it.each(knownStores)(
    'names a test of the store %s, or of the faults that are its own',
    (store) => {
      const ownTests = named.filter((file) => file.startsWith(`coordinators/${store}`));
      const shared = ['redis-sentinel', 'redis-cluster'].includes(store) ? 'redis-failover' : store;
      expect(
        ownTests.length + named.filter((file) => file.endsWith(shared)).length,
      ).toBeGreaterThan(0);
    },
  );

  it('promises nothing that no store can keep', () => {
    for (const file of [
      'README.md',
      'docs/guarantees.md',
      'docs/choosing.md',
      'docs/elections.md',
    ]) {
      const text = readFileSync(join(root, file), 'utf8');
      expect(text, file).not.toMatch(/only one leader|exactly[- ]once|split[- ]brain/i);
    }
  });
});
