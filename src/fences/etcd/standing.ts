import { leaderOf, viewOf } from '../../coordinators/etcd/index.js';
import { isTerm } from '../../coordinators/index.js';
import type { EtcdCompare, EtcdKeyValue } from '../../drivers/etcd/index.js';
import { OptionError, RecordCorruptError } from '../../errors/index.js';
import { LeaseEndedError } from '../../leases/index.js';
import type { Candidate, InstalledTerm } from '../rule.js';

export function installedText({ term, holderDigest }: InstalledTerm): string {
  return `1|${term}|${holderDigest}`;
}

/** @throws {RecordCorruptError} if it is no such text. */
export function parseInstalled(name: string, found: EtcdKeyValue): InstalledTerm {
  const [, text, holderDigest = ''] =
    /^1\|([1-9]\d{0,15})\|([0-9a-f]{32})$/.exec(found.value) ?? [];
  const term = Number(text);
  if (isTerm(term)) return { term, holderDigest };
  throw new RecordCorruptError(
    `what stands under the fence's key of "${name}" in etcd is no term: somebody else wrote it. Look at it with etcdctl get --prefix ":tenure-fence/1/".`,
  );
}

/**
 * The condition under which the lease stands, as it was read: its key is the first of the queue, and nobody who comes later
 * gets before it, so that its being unchanged is all there is to ask.
 *
 * @param queue the keys of all who lead or wait.
 * @throws {LeaseEndedError} if it does not stand. @throws {OptionError} if the token has no holder that could be compared.
 */
export function leaseCondition(
  { name, term, token }: Candidate,
  queue: readonly EtcdKeyValue[],
): EtcdCompare {
  const wire: unknown = token.holder.wire;
  if (typeof wire !== 'string' || wire === '') {
    throw new OptionError('token.holder', 'hidden', 'is not a Holder', 'pass the lease itself');
  }
  const leader = leaderOf(viewOf(name, { queue }));
  if (leader === undefined) throw new LeaseEndedError(name, term, 'vanished');
  const { kv, value } = leader;
  const isOurs =
    value?.state === 'leads' &&
    value.holder.wire === wire &&
    kv.createRevision + value.offset === term;
  if (!isOurs) throw new LeaseEndedError(name, term, 'superseded');
  if (value.revocation !== undefined) throw new LeaseEndedError(name, term, 'revoked');
  return { range: { key: kv.key }, mod: kv.modRevision };
}
