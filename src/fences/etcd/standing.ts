import { leaderOf, viewOf } from '../../coordinators/etcd/index.js';
import type { EtcdCompare, EtcdKeyValue } from '../../drivers/etcd/index.js';
import { corruptTerm } from '../corrupt.js';
import { endedOf } from '../refusal.js';
import { type Candidate, type InstalledTerm, termIn } from '../rule.js';

export function installedText({ term, holderDigest }: InstalledTerm): string {
  return `1|${term}|${holderDigest}`;
}

/** @throws {RecordCorruptError} if it is no such text. */
export function parseInstalled(name: string, found: EtcdKeyValue): InstalledTerm {
  const [, text, holderDigest = ''] =
    /^1\|([1-9]\d{0,15})\|([0-9a-f]{32})$/.exec(found.value) ?? [];
  const term = termIn(text);
  if (term !== undefined) return { term, holderDigest };
  throw corruptTerm(
    `what stands in etcd under the fence's key of "${name}" (etcdctl get --prefix ":tenure-fence/1/" shows it)`,
  );
}

/**
 * The condition under which the lease stands, as it was read: its key is the first of the queue, and nobody who comes later
 * gets before it, so that its being unchanged is all there is to ask.
 *
 * @param queue the keys of all who lead or wait.
 * @throws {LeaseEndedError} if it does not stand.
 */
export function leaseCondition(candidate: Candidate, queue: readonly EtcdKeyValue[]): EtcdCompare {
  const { name, term, holderDigest } = candidate;
  const leader = leaderOf(viewOf(name, { queue }));
  if (leader === undefined) throw endedOf(candidate, 'vanished');
  const { kv, value } = leader;
  const isOurs =
    value?.state === 'leads' &&
    value.holder.digest === holderDigest &&
    kv.createRevision + value.offset === term;
  if (!isOurs) throw endedOf(candidate, 'superseded');
  if (value.revocation !== undefined) throw endedOf(candidate, 'revoked');
  return { range: { key: kv.key }, mod: kv.modRevision };
}
