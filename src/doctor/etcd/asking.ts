import { EtcdKeys } from '../../coordinators/etcd/keys.js';
import { EtcdClient } from '../../drivers/etcd/client.js';
import type { EtcdLocation } from '../../drivers/etcd/location.js';
import { StoreMisconfiguredError } from '../../errors/index.js';
import type { Purpose } from '../finding.js';

/** Runs `body` with a client that is closed after it, or when the examination is given up. */
export async function withClient<Value>(
  location: EtcdLocation,
  { runtime, signal }: Purpose,
  body: (client: EtcdClient) => Promise<Value>,
): Promise<Value> {
  const client = new EtcdClient({ what: 'the doctor', location, runtime });
  const close = () => client.close();
  signal.addEventListener('abort', close);
  try {
    return await body(client);
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

export function ask(client: EtcdClient, path: string, what: string, timeoutMs: number) {
  const deadline = client.deadline(timeoutMs);
  return client.call({ path, body: {}, what, deadline, isRepeatable: true });
}

/** A read that a majority confirms, of what the namespace has. */
export function countKeys(client: EtcdClient, { namespace, timeoutMs }: Purpose): Promise<unknown> {
  const range = new EtcdKeys('', namespace).partOfGroup('suspended', '');
  return client.read(
    [{ kind: 'get', range, isCount: true }],
    'a count',
    client.deadline(timeoutMs),
  );
}

/** The user is known, and may not do that. */
export function isDenial(error: unknown): boolean {
  return error instanceof StoreMisconfiguredError && /lacks a right/.test(error.message);
}
