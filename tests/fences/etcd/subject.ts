import type { BatchFenceSubject } from '../../../src/fences/conformance/index.js';
import {
  type EtcdBatch,
  type EtcdFenceOptions,
  etcdFence,
} from '../../../src/fences/etcd/index.js';

/** What stands under a key of a cluster, as anybody else sees it, over its JSON gateway. */
export async function readKey(url: string, key: string): Promise<string | undefined> {
  const response = await fetch(`${url.replace('etcd://', 'http://').split(',')[0]}/v3/kv/range`, {
    method: 'POST',
    body: JSON.stringify({ key: Buffer.from(key).toString('base64') }),
  });
  const { kvs } = (await response.json()) as { kvs?: { value?: string }[] };
  const value = kvs?.[0]?.value;
  return kvs === undefined ? undefined : Buffer.from(value ?? '', 'base64').toString();
}

/** A conformance subject: two fences on one cluster. */
export function etcdSubject(
  url: string,
  options: EtcdFenceOptions = {},
): BatchFenceSubject<EtcdBatch> {
  const fence = etcdFence(url, options);
  const other = etcdFence(url, options);
  return {
    fence,
    other,
    write: async (batch, key, value) => batch.put(key, value),
    read: async (key) => await readKey(url, key),
    async close() {
      await Promise.all([fence.close(), other.close()]);
    },
  };
}
