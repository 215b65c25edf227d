import { EtcdKeys } from '../../coordinators/etcd/keys.js';
import type { EtcdClient } from '../../drivers/etcd/client.js';
import type { EtcdLocation } from '../../drivers/etcd/location.js';
import { StoreMisconfiguredError, StoreRefusedError } from '../../errors/index.js';
import { type Looked, seen } from '../check.js';
import type { Purpose } from '../finding.js';
import { ask, countKeys, withClient } from './asking.js';
import type { Access } from './facts.js';

/** Whether users are asked for, and what ours may do. */
export async function lookAtAccess(
  client: EtcdClient,
  location: EtcdLocation,
  purpose: Purpose,
): Promise<Looked<Access>> {
  const { user = 'none', tls } = location;
  const stranger = { ...location, user: undefined, password: undefined };
  const isOn = !(await isAllowed(
    withClient(stranger, purpose, (anybody) => countKeys(anybody, purpose)),
  ));
  const mayWrite = await isAllowed(writeNothing(client, purpose)).catch((error) => {
    // One that takes no writes at all is told of as such.
    if (error instanceof StoreRefusedError) return undefined;
    throw error;
  });
  const askForUsers = () => ask(client, '/v3/auth/user/list', 'the users', purpose.timeoutMs);
  const isRoot = isOn && (await isAllowed(askForUsers()));
  return seen({ isOn, hasCertificate: tls?.cert !== undefined, user, mayWrite, isRoot });
}

/**
 * A transaction under a condition that never holds: its right to write is checked, and nothing is written.
 */
function writeNothing(client: EtcdClient, { namespace, timeoutMs }: Purpose): Promise<unknown> {
  const keys = new EtcdKeys('', namespace);
  const own = keys.part('suspended', 'doctor');
  // In the namespace `default` each name has a key of its own, and a right to it.
  const all = namespace === 'default' ? [own] : [own, `${keys.election('doctor')}/`];
  return client.txn(
    [{ range: { key: own }, mod: Number.MAX_SAFE_INTEGER }],
    all.map((key) => ({ kind: 'put', key, value: '', lease: '0' })),
    'a question for its rights',
    client.deadline(timeoutMs),
    true,
  );
}

async function isAllowed(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (error instanceof StoreMisconfiguredError) return false;
    throw error;
  }
}
