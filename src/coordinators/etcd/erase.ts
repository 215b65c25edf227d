import { EtcdClient, etcdLocation, withPrefix } from '../../drivers/etcd/index.js';
import { OptionError } from '../../errors/index.js';
import { realRuntime } from '../../time/index.js';
import { encodeName, validateName } from '../names.js';

const timeoutMs = 5_000;

/**
 * Deletes everything the leases of a namespace left on a cluster, elections included. For namespaces of one run only, whose
 * clients are all gone. Not for `default`, whose elections have no prefix of their own.
 *
 * @throws {OptionError}, {@link UnreachableError}, {@link OutcomeUnknownError}; repeating it is harmless.
 */
export async function eraseEtcdLeases(url: string, namespace: string): Promise<void> {
  if (validateName(namespace, 'namespace') === 'default')
    throw new OptionError('namespace', namespace, 'is not for one run', 'use another one');
  const location = etcdLocation(url, undefined);
  const client = new EtcdClient({ what: 'the eraser', location, runtime: realRuntime });
  const space = encodeName(namespace);
  const operations = [`:tenure/1/${space}/`, `${space}:`].map(
    (prefix) => ({ kind: 'delete', range: withPrefix(prefix) }) as const,
  );
  try {
    const what = 'the removal of a namespace';
    await client.txn([], operations, what, client.deadline(timeoutMs), true);
  } finally {
    client.close();
  }
}
