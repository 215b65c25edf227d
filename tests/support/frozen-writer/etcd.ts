import { randomUUID } from 'node:crypto';
import { etcdFence } from '../../../src/fences/etcd/index.js';
import { startEtcd } from '../servers/index.js';
import type { FencedStore, LogSide } from './store.js';

/** A batch is one transaction of etcd, so that nobody is ever frozen between check and write: no claim waits. */
export const store: FencedStore = {
  url: import.meta.url,
  claimLimitMs: 10_000,
  async prepare() {
    const cluster = await startEtcd();
    return { target: cluster.url, remove: () => cluster.stop() };
  },
  open: async (target) => openSide(target),
};

function openSide(target: string): LogSide {
  const fence = etcdFence(target);
  const gateway = target.replace('etcd://', 'http://');
  const ask = async (path: string, question: object): Promise<{ readonly count?: string }> => {
    const body = JSON.stringify(question);
    const response = await fetch(`${gateway}/v3/kv/${path}`, { method: 'POST', body });
    if (!response.ok) throw new Error(`etcd answered ${response.status}`);
    return (await response.json()) as { readonly count?: string };
  };
  return {
    claim: (token) => fence.claim(token),
    async append(token, isFenced, inside) {
      const key = `${logOf(token.name, token.term)}/${randomUUID()}`;
      if (isFenced) {
        await fence.transaction(token, async (batch) => {
          batch.put(key, '');
          await inside();
        });
        return;
      }
      await inside();
      await ask('put', { key: encoded(key), value: '' });
    },
    async count(name, term) {
      const log = logOf(name, term);
      // `0` comes after `/`: all keys below the log.
      const range = { key: encoded(`${log}/`), range_end: encoded(`${log}0`), count_only: true };
      return Number((await ask('range', range)).count ?? 0);
    },
    close: () => fence.close(),
  };
}

const logOf = (name: string, term: number) => `log/${name}/${term}`;
const encoded = (key: string) => Buffer.from(key).toString('base64');
