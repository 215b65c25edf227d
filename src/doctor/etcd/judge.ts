import { counted, sayMs } from '../../errors/say.js';
import { type Check, critical, ifSeen, note, ok, type Verdict, warning } from '../check.js';
import { sayBytes } from '../say.js';
import type { EndpointFacts, EtcdFacts } from './facts.js';

/** The first of each line in which the known defects of leases and reads are mended. */
const fixed: Readonly<Record<string, number>> = { '3.4': 42, '3.5': 28, '3.6': 9 };
/** What a member takes without `--quota-backend-bytes`. */
const usualQuotaBytes = 2 * 1024 ** 3;
/** 1.5 times the election timeout of 1 s that members have by default, in whole seconds. */
const usualSmallestTtlMs = 2_000;
const nearlyFull = 0.8;

export const etcdChecks: readonly Check<EtcdFacts>[] = [
  {
    id: 'etcd-gateway',
    severities: ['critical'],
    risk: 'tenure cannot speak to such a member: it uses the JSON gateway',
    remedy: 'start each member with `--enable-grpc-gateway=true`, which is the default',
    judge({ endpoints }) {
      const without = endpoints.filter(({ isWithoutGateway }) => isWithoutGateway);
      if (without.length > 0) return critical(`it is off at ${without.map(addressOf).join(', ')}`);
      return answering(endpoints).length === 0 ? undefined : ok('it is on');
    },
  },
  {
    id: 'etcd-quorum',
    severities: ['critical'],
    risk: 'no lease is granted or renewed, and those that are held end, until most members are back',
    remedy: 'start the members that are missing: `etcdctl endpoint status --cluster` shows which',
    judge({ quorumFailure }) {
      if (quorumFailure === undefined) return ok('a majority answers');
      return critical(`no majority confirms a read: ${quorumFailure}`);
    },
  },
  {
    id: 'etcd-cluster',
    severities: ['critical'],
    risk: 'each of them grants leases by itself: two processes that reach different ones hold one name',
    remedy:
      'name the members of one cluster alone, each by one address: `etcdctl member list --endpoints=HOST:PORT` shows those of each',
    judge: ({ endpoints }) => judgeCluster(answering(endpoints)),
  },
  {
    id: 'etcd-members',
    severities: ['warning'],
    risk: 'with one more member gone there may be no majority left, and calls that meet the missing one are slow',
    remedy: 'start it, or take it off the URL if it is a member no more',
    judge({ endpoints }) {
      const gone = endpoints.filter(({ failure }) => failure !== undefined);
      const text = `${endpoints.length - gone.length} of ${endpoints.length} that the URL names answer`;
      if (gone.length === 0) return ok(text);
      return warning(`${text}; ${gone.map(({ failure }) => failure).join('; ')}`);
    },
  },
  {
    id: 'etcd-size',
    severities: ['warning'],
    risk: 'the loss of one member stops every lease',
    remedy: 'run three members, or five: `etcdctl member add`',
    judge: ({ members }) =>
      ifSeen(members, (all) => {
        const voters = all.filter(({ isLearner }) => !isLearner).length;
        const text = counted(voters, 'voting member');
        if (voters >= 3 && voters % 2 === 1) return ok(text);
        if (voters < 3) return warning(text);
        return warning(text, {
          risk: 'an even number bears no more failures than one member less, and has more that can fail',
        });
      }),
  },
  {
    id: 'etcd-url',
    severities: ['warning'],
    risk: 'when the members that are named are gone, nobody finds the others',
    remedy: 'name all members in the URL: `etcdctl member list` shows them',
    judge: ({ members, endpoints }) =>
      ifSeen(members, (all) => {
        const text = `the URL names ${endpoints.length} of ${counted(all.length, 'member')}`;
        return endpoints.length < all.length ? warning(text) : ok(text);
      }),
  },
  {
    id: 'etcd-alarm',
    severities: ['critical'],
    risk: 'nothing can be written: no lease is granted, and with CORRUPT the members disagree on who holds one',
    remedy:
      'NOSPACE: `etcdctl compact`, `etcdctl defrag`, or a larger --quota-backend-bytes, then `etcdctl alarm disarm`. CORRUPT: replace the member that differs',
    judge({ endpoints }) {
      const those = answering(endpoints);
      if (those.length === 0) return undefined;
      const alarms = new Set(those.flatMap(({ alarms = [] }) => alarms));
      return alarms.size === 0 ? ok('none') : critical(`raised: ${[...alarms].join(', ')}`);
    },
  },
  {
    id: 'etcd-space',
    severities: ['warning'],
    risk: 'when the database is full (alarm NOSPACE) no lease is granted any more',
    remedy:
      'compact and defragment it (`--auto-compaction-retention=1h`, `etcdctl defrag`), or raise --quota-backend-bytes',
    judge({ endpoints }) {
      const [fullest] = answering(endpoints)
        .map((one) => ({ used: one.usedBytes ?? 0, quota: one.quotaBytes ?? usualQuotaBytes, one }))
        .sort((a, b) => b.used / b.quota - a.used / a.quota);
      if (fullest === undefined) return undefined;
      const { used, quota, one } = fullest;
      const isTold = one.quotaBytes !== undefined;
      const text = `${sayBytes(used)} of ${sayBytes(quota)}${isTold ? '' : ' (the usual quota; this version does not tell its own)'}`;
      return used > quota * nearlyFull ? warning(text) : ok(text);
    },
  },
  {
    id: 'etcd-version',
    severities: ['critical', 'warning'],
    risk: 'a live lease can be ended after a raft leader was paused, and a read can be stale; its holder notices at its next renewal',
    remedy: 'upgrade to 3.4.42, 3.5.28, 3.6.9 or later, and fence what the holder writes to',
    judge({ endpoints }) {
      const versions = [...new Set(answering(endpoints).map(({ version = '' }) => version))];
      if (versions.length === 0) return undefined;
      const text = `etcd ${versions.join(', ')}`;
      if (versions.some((version) => lineOf(version) < 4))
        return critical(text, { risk: 'tenure speaks to 3.4 or later' });
      return versions.some(hasLeaseDefect) ? warning(text) : ok(text);
    },
  },
  {
    id: 'etcd-ttl-floor',
    severities: ['warning', 'note'],
    risk: 'members grant 1.5 times their election timeout at least: the name of a dead process stays taken for that long',
    remedy:
      'ask for a ttl of 2 s or more, or lower --election-timeout (and --heartbeat-interval) of the members',
    judge(_facts, { ttlMs }) {
      const grantedS = Math.ceil(ttlMs / 1_000);
      if (ttlMs < usualSmallestTtlMs)
        return warning(`a ttl of ${sayMs(ttlMs)}, and usual members grant none below 2 s`);
      if (ttlMs % 1_000 === 0) return ok(`${grantedS} s, which usual members grant`);
      return note(`${sayMs(ttlMs)}: the name of a dead process stays taken for ${grantedS} s`, {
        risk: 'store leases count whole seconds',
        remedy: 'ask for a ttl of whole seconds',
      });
    },
  },
  {
    id: 'etcd-auth',
    severities: ['warning', 'note'],
    risk: 'whoever reaches a member may take, end and forge every lease',
    remedy: 'make users and a role (below), then `etcdctl auth enable`; or `--client-cert-auth`',
    judge: ({ access, isLocal }) =>
      ifSeen(access, ({ isOn, hasCertificate }) => {
        if (isOn) return ok('users are asked for');
        if (hasCertificate) return ok('a certificate is shown, and no users are asked for');
        const text = 'no users are asked for';
        return isLocal ? note(`${text}, on this machine`) : warning(text);
      }),
  },
  {
    id: 'etcd-rights',
    severities: ['critical'],
    risk: 'leases of this namespace are refused',
    remedy: 'grant the user the role below',
    judge: ({ access }) =>
      ifSeen(access, ({ user, mayWrite, isOn }) => {
        if (mayWrite === undefined) return undefined;
        if (!mayWrite) return critical(`user ${user} may not write where the namespace is`);
        return ok(isOn ? `user ${user} may write where the namespace is` : 'everybody may write');
      }),
  },
  {
    id: 'etcd-rights-broad',
    severities: ['warning'],
    risk: 'whoever has the password, or a mistake, may do everything in the cluster',
    remedy: 'use a user with the role below, and no other',
    judge: ({ access }) =>
      ifSeen(access, ({ isOn, isRoot, user }) => {
        if (!isOn) return undefined;
        return isRoot ? warning(`user ${user} may manage users`) : ok(`user ${user} is no root`);
      }),
  },
];

/** Two clusters of one configuration have one id, and their members too: so the members are compared as well. */
function judgeCluster(answering: readonly EndpointFacts[]): Verdict | undefined {
  if (answering.length === 0) return undefined;
  const clusters = groupedBy(answering, ({ clusterId }) => clusterId || undefined);
  if (clusters.size > 1)
    return critical(`the URL leads to ${clusters.size} clusters: ${sayGroups(clusters)}`);
  const lists = groupedBy(answering, ({ knows }) => knows?.join(' '));
  if (lists.size > 1)
    return critical(
      `they do not agree on who is a member: ${sayGroups(lists)} have lists of their own`,
    );
  const members = groupedBy(answering, ({ memberId }) => memberId || undefined);
  const twice = [...members].filter(([, addresses]) => addresses.length > 1);
  if (twice.length > 0)
    return critical(
      `${sayGroups(new Map(twice))} answer as one member: it is named twice, or they are clusters of one configuration`,
    );
  const text = counted(answering.length, 'member');
  return ok(answering.length === 1 ? `${text} was asked` : `${text} of one cluster`);
}

function groupedBy(
  endpoints: readonly EndpointFacts[],
  keyOf: (endpoint: EndpointFacts) => string | undefined,
): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const endpoint of endpoints) {
    const key = keyOf(endpoint);
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), endpoint.address]);
  }
  return groups;
}

function sayGroups(groups: ReadonlyMap<string, readonly string[]>): string {
  return [...groups.values()].map((addresses) => addresses.join(', ')).join(' and ');
}

const addressOf = ({ address }: EndpointFacts) => address;

function answering(endpoints: readonly EndpointFacts[]): readonly EndpointFacts[] {
  return endpoints.filter(({ version }) => version !== undefined);
}

/** The second number, of 3. */
function lineOf(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 3 ? 0 : major > 3 ? Number.POSITIVE_INFINITY : minor;
}

function hasLeaseDefect(version: string): boolean {
  const [, line = '', patch = '0'] = /^(\d+\.\d+)\.(\d+)/.exec(version) ?? [];
  const firstFixed = fixed[line];
  return firstFixed !== undefined && Number(patch) < firstFixed;
}
