import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type RunningStore, serverStores } from '../support/electorate/stores.js';
import { selftest, tenure } from './command-line.js';

interface Report {
  readonly store: string;
  readonly checks: readonly { readonly name: string; readonly passed: boolean }[];
}

/** They measure times, beside the servers of all these stores. */
const sideBySide = 2;
let turns: Promise<unknown>[] = [];

async function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
  while (turns.length >= sideBySide) await Promise.race(turns);
  const turn = work();
  turns.push(turn);
  try {
    return await turn;
  } finally {
    turns = turns.filter((one) => one !== turn);
  }
}

const names = ['spread', 'exclusion', 'loss', 'order', 'refusal'];

describe.concurrent.each(serverStores)(
  'the selftest on $store',
  { timeout: 120_000 },
  ({ store: name, start }) => {
    let store: RunningStore;
    beforeAll(async () => {
      store = await start();
    }, 60_000);
    afterAll(() => store?.stop());

    it('passes all five checks, with messages in memory unless it keeps some', async () => {
      const { status, stdout, stderr } = await inTurn(() =>
        selftest(['--url', store.url, '-o', 'json']),
      );
      expect(status, stdout + stderr).toBe(0);
      const { checks, store: address } = JSON.parse(stdout) as Report;
      expect(checks.map(({ name, passed }) => [name, passed])).toEqual(
        names.map((name) => [name, true]),
      );
      expect(address.endsWith(', messages in memory:')).toBe(name !== 'redis-sentinel');
    });
  },
);

describe('the selftest', () => {
  it('has its messages where it is told to', { timeout: 60_000 }, async () => {
    const words = ['--url', 'memory:', '--streams', inject('redisUrl')];
    const { status, stdout } = await selftest(['-o', 'json', ...words]);
    expect(status, stdout).toBe(0);
    const { host } = new URL(inject('redisUrl'));
    expect((JSON.parse(stdout) as Report).store).toBe(`memory:, messages in redis://${host}`);
  });

  it('names the place of a URL that keeps no messages', async () => {
    const words = ['--url', 'memory:', '--streams', 'etcd://h'];
    const { status, stderr } = await tenure(['selftest', ...words]);
    expect(status).toBe(64);
    expect(stderr.replace(/\s+/g, ' ')).toContain('--streams keeps leases, and no messages');
  });
});
