import { counted } from '../../errors/say.js';
import { type Check, critical, factOf, ifSeen, note, ok, type Verdict, warning } from '../check.js';
import { sayBytes } from '../say.js';
import type { Info, Replica, ServerFacts, Settings } from './facts.js';
import { type Feature, features, spokenOf } from './feature-rights.js';

/** Only 7.0.15 has been run. */
const smallestMajorVersion = 7;

/** What is looked at on each server that holds data. */
export const serverChecks: readonly Check<ServerFacts>[] = [
  {
    id: 'redis-version',
    severities: ['critical'],
    risk: 'tenure refuses it: scripts report errors in another form',
    remedy: 'run Redis 7.0 or later',
    judge: ({ info }) =>
      ifSeen(info, ({ version }) => {
        const major = Number.parseInt(version, 10);
        if (major < smallestMajorVersion) return critical(`Redis ${version}`);
        return ok(`Redis ${version}`);
      }),
  },
  {
    id: 'redis-role',
    severities: ['critical', 'warning'],
    risk: 'a replica forgets or invents leases, a sentinel keeps none (tenure refuses both), and a node of a cluster those of its slots alone',
    remedy:
      'point the URL at the master, or use redis+sentinel://host:port/master-name or redis+cluster://host:port',
    judge: ({ info, shape }) =>
      ifSeen(info, ({ role, mode }) => {
        if (mode === 'sentinel') return critical('it is a sentinel');
        if (mode === 'cluster' && shape !== 'cluster') return warning('it is a node of a cluster');
        if (mode === 'standalone' && shape === 'cluster')
          return critical('it is no node of a cluster', {
            remedy: 'use redis://host:port for a server that is alone',
          });
        if (role === 'master' || role === '') return ok('it is a master');
        return critical(`it is a replica (role:${role})`);
      }),
  },
  {
    id: 'redis-refusal',
    severities: ['critical', 'warning'],
    risk: 'no lease is granted while it does so, and those that are held may end',
    remedy: 'end what the server names: replicas, memory or a disk that it lacks',
    judge({ write, shape }) {
      if (write === 'denied') return undefined;
      if (write === 'taken') return ok('it takes writes');
      const text = `it refuses a write: ${write.refusal}`;
      const remedy = refusalRemedies[/^[A-Z]+/.exec(write.refusal)?.[0] ?? ''];
      const besides = remedy === undefined ? {} : { remedy };
      // Whether a majority takes them is told of the quorum.
      if (shape !== 'quorum') return critical(text, besides);
      return warning(text, { ...besides, risk: 'it gives no vote, and is as good as gone' });
    },
  },
  {
    id: 'redis-eviction',
    severities: ['critical', 'warning'],
    risk: 'a live lease is evicted, and a second holder is granted the name while the first still believes',
    remedy: '`CONFIG SET maxmemory-policy noeviction`, and the same in redis.conf',
    judge: ({ info }) => ifSeen(info, judgeEviction),
  },
  {
    id: 'redis-memory',
    severities: ['critical', 'warning'],
    risk: 'when it is full, no lease is granted or renewed (OOM), and all of them end',
    remedy: '`CONFIG SET maxmemory` to more, or move other data elsewhere',
    judge: ({ info }) => ifSeen(info, judgeMemory),
  },
  {
    id: 'redis-clients',
    severities: ['warning'],
    risk: 'a process that has lost its connection gets no other one, and its leases end',
    remedy: '`CONFIG SET maxclients` to more (and the limit of open files of the server)',
    judge: ({ info }) =>
      ifSeen(info, ({ clients, maxClients }) => {
        if (clients === undefined || maxClients === undefined) return undefined;
        const text = `${clients} of ${maxClients} connections are taken`;
        return clients > maxClients * nearlyFull ? warning(text) : ok(text);
      }),
  },
  {
    id: 'redis-persistence',
    severities: ['critical', 'warning', 'note'],
    risk: 'a restart forgets leases that are held: a second holder is granted the name while the first still believes',
    remedy:
      '`CONFIG SET appendonly yes` and `CONFIG SET appendfsync always`, and the same in redis.conf',
    judge: (facts) =>
      ifSeen(facts.info, ({ appendOnlyFile }) =>
        appendOnlyFile === undefined
          ? undefined
          : ifSeen(facts.settings, (settings) => judgePersistence(facts, appendOnlyFile, settings)),
      ),
  },
  {
    id: 'redis-writes',
    severities: ['critical'],
    risk: 'what it holds may not survive a restart; by default it then takes no writes (MISCONF), so that every lease ends',
    remedy:
      'look into its log and at its disk: `redis-cli INFO persistence` says which write failed',
    judge: ({ info }) =>
      ifSeen(info, ({ persistenceHealthy }) =>
        persistenceHealthy
          ? ok('its last writes to disk went well')
          : critical('its last write to the append-only file, or its last snapshot, failed'),
      ),
  },
  {
    id: 'redis-replicas',
    severities: ['critical', 'warning', 'note'],
    risk: 'a master that is cut off goes on granting and renewing while another one is promoted: two hold one name until it is back',
    remedy:
      '`CONFIG SET min-replicas-to-write 1` and `CONFIG SET min-replicas-max-lag` to at most a third of the ttl, on every server that may be the master',
    judge: (facts, { ttlMs }) =>
      ifSeen(facts.info, (info) =>
        facts.shape === 'quorum' ? judgeQuorumReplicas(info) : judgeReplicas(facts, info, ttlMs),
      ),
  },
  {
    id: 'redis-rights',
    severities: ['critical', 'warning'],
    risk: 'what needs them is refused',
    remedy: '`ACL SETUSER` with the rights that are listed below',
    judge: ({ rights, user }) =>
      ifSeen(rights, ({ missing, isEnough }) => {
        if (missing.length === 0) return ok(`user ${user} may do all that leases need`);
        const remedy = `\`ACL SETUSER ${user} ${missing.map((right) => `+${right}`).join(' ')}\`, and the keys and channels of the namespace`;
        const text = `user ${user} may not: ${missing.join(', ')}`;
        if (!isEnough) return critical(text, { remedy });
        return warning(text, {
          remedy,
          risk: 'everything works, but some of it later, or without being looked at first',
        });
      }),
  },
  ...features.map(judgeFeature),
  {
    id: 'redis-rights-broad',
    severities: ['warning', 'note'],
    risk: 'whoever has the password, or a mistake, ends all leases, or the server',
    remedy: 'make a user with the rights that are listed below, and no others',
    judge: ({ rights, user, isLocal }) =>
      ifSeen(rights, ({ needless, reachesOtherKeys, isEnough }) => {
        // Who may do nothing, may not do too much either.
        if (!isEnough && needless.length === 0) return undefined;
        const sends = needless.length === 0 ? [] : [`send ${needless.map(spoken).join(', ')}`];
        const all = [...sends, ...(reachesOtherKeys ? ['write keys of others'] : [])];
        if (all.length === 0) return ok(`user ${user} may do nothing beyond that`);
        const text = `user ${user} may also ${all.join(', and ')}`;
        return isLocal ? note(text) : warning(text);
      }),
  },
  {
    id: 'redis-login',
    severities: ['warning', 'note'],
    risk: 'whoever reaches the port may take, end and forge every lease',
    remedy:
      'make a user with a password (below), put both into the URL, and `ACL SETUSER default off`',
    judge({ hasPassword, isLocal, user }) {
      if (hasPassword) return ok(`user ${user} has a password`);
      const text = 'it lets us in without a password';
      return isLocal ? note(`${text}, on this machine`) : warning(text);
    },
  },
];

const refusalRemedies: Readonly<Record<string, string>> = {
  NOREPLICAS:
    'bring its replicas back (`redis-cli INFO replication` shows them), or `CONFIG SET min-replicas-to-write` to what there is',
  OOM: '`CONFIG SET maxmemory` to more, or move other data elsewhere',
  MISCONF: 'look into its log and at its disk: it cannot write its data',
  READONLY: 'point the URL at the master, or use redis+sentinel://host:port/master-name',
  MOVED: 'this is a node of a Redis Cluster: use redis+cluster://host:port',
  CLUSTERDOWN: '`redis-cli --cluster check HOST:PORT` shows what is missing',
};

/** Nothing has to be done by who does not use it. */
function judgeFeature(feature: Feature): Check<ServerFacts> {
  return {
    id: `redis-rights-${feature}`,
    severities: ['note'],
    risk: 'what needs them is refused (NOPERM); leases go on',
    remedy: '`ACL SETUSER` with the rights that are listed below',
    judge: ({ rights, user }) => {
      const seen = factOf(rights);
      const missing = seen?.missingOf[feature];
      if (seen?.isEnough !== true || missing === undefined) return undefined;
      const does = spokenOf(feature);
      if (missing.length === 0) return ok(`user ${user} may ${does}`);
      const remedy = `if it should, \`ACL SETUSER ${user} ${missing.join(' ')}\``;
      return note(`user ${user} may not ${does}, for want of ${missing.join(', ')}`, { remedy });
    },
  };
}

const nearlyFull = 0.9;

/** `config|set` as it is sent. */
const spoken = (command: string) => command.replace('|', ' ').toUpperCase();

function judgeEviction({ maxmemoryBytes, maxmemoryPolicy: policy }: Info): Verdict | undefined {
  if (policy === '') return undefined;
  const limit =
    maxmemoryBytes === undefined || maxmemoryBytes === 0
      ? 'no maxmemory'
      : `maxmemory ${sayBytes(maxmemoryBytes)}`;
  const text = `maxmemory-policy ${policy}, ${limit}`;
  if (policy === 'noeviction') return ok(text);
  if (maxmemoryBytes === 0)
    return warning(text, { risk: 'as soon as somebody sets maxmemory, live leases are evicted' });
  return critical(text);
}

function judgeMemory({ usedBytes, maxmemoryBytes, maxmemoryPolicy }: Info): Verdict | undefined {
  if (usedBytes === undefined || maxmemoryBytes === undefined) return undefined;
  if (maxmemoryBytes === 0) return ok(`${sayBytes(usedBytes)} used, no maxmemory`);
  const text = `${sayBytes(usedBytes)} of ${sayBytes(maxmemoryBytes)} used`;
  if (usedBytes > maxmemoryBytes && maxmemoryPolicy === 'noeviction')
    return critical(text, { risk: 'no lease is granted or renewed (OOM), and all of them end' });
  return usedBytes > maxmemoryBytes * nearlyFull ? warning(text) : ok(text);
}

function judgePersistence(
  { shape }: ServerFacts,
  appendOnlyFile: boolean,
  { appendfsync, save }: Settings,
): Verdict {
  if (!appendOnlyFile && save === '')
    return critical('it keeps nothing on disk (appendonly no, save "")');
  if (!appendOnlyFile) {
    const risk =
      'a restart forgets every lease that is younger than the last snapshot: a second holder is granted the name while the first still believes';
    return warning(`snapshots alone (appendonly no, save "${save}")`, { risk });
  }
  if (appendfsync === 'always') return ok('appendonly yes, appendfsync always');
  const text = `appendonly yes, appendfsync ${appendfsync}`;
  const lost =
    appendfsync === 'no' ? 'what the kernel had not written yet' : 'its last second or two';
  const risk = `a power cut (not a crash of the server alone) forgets ${lost}, and leases with it`;
  // A majority that is restarted after a power cut is as good as one server that is.
  return shape === 'quorum' || appendfsync === 'no'
    ? warning(text, { risk })
    : note(text, { risk });
}

function judgeReplicas(
  { shape, settings }: ServerFacts,
  { replicas }: Info,
  ttlMs: number,
): Verdict | undefined {
  const online = replicas.filter(({ isOnline }) => isOnline).length;
  const scarcity = judgeScarcity(factOf(settings), replicas);
  if (scarcity !== undefined) return scarcity;
  if (shape === 'single' && replicas.length === 0) return ok('none, so that nothing fails over');
  if (online === 0) {
    const text = replicas.length === 0 ? 'it has no replica' : 'none of its replicas is online';
    const remedy = 'start one: `replicaof <host> <port>` in its redis.conf';
    return warning(text, { remedy, risk: 'if the master fails there is nothing to fail over to' });
  }
  return ifSeen(settings, ({ minReplicasToWrite, minReplicasMaxLagS }) => {
    const text = `${counted(online, 'replica')} online, min-replicas-to-write ${minReplicasToWrite}`;
    if (minReplicasToWrite === 0) return critical(text);
    const longestS = Math.max(1, Math.floor(ttlMs / 3_000));
    const lag = `${text}, min-replicas-max-lag ${minReplicasMaxLagS} s`;
    if (minReplicasMaxLagS === 0 || minReplicasMaxLagS > longestS)
      return warning(lag, {
        risk: 'a master that is cut off goes on granting for that long, beside the one that was promoted',
        remedy: `\`CONFIG SET min-replicas-max-lag ${longestS}\`, and the same in redis.conf, on every server that may be the master`,
      });
    if (shape === 'single') return ok(lag);
    const risk = 'a failover may still forget the last grants, and the name is then granted twice';
    const remedy =
      'use the option `replicas: 1`, which makes that rare, and fence what the holder writes to';
    return note(lag, { risk, remedy });
  });
}

/** A server that demands more replicas than keep up takes no writes. 0 for either demands none. */
function judgeScarcity(
  settings: Settings | undefined,
  replicas: readonly Replica[],
): Verdict | undefined {
  if (settings === undefined) return undefined;
  const { minReplicasToWrite: needed, minReplicasMaxLagS: maxLagS } = settings;
  const good = replicas.filter(({ isOnline, lagS }) => isOnline && lagS <= maxLagS).length;
  if (!(needed > 0 && maxLagS > 0) || good >= needed) return undefined;
  return critical(
    `min-replicas-to-write ${needed}, and ${counted(good, 'replica')} no more than ${maxLagS} s behind`,
    {
      risk: 'no lease is granted or renewed (NOREPLICAS), and all of them end',
      remedy: `bring replicas back (\`redis-cli INFO replication\` shows them), or \`CONFIG SET min-replicas-to-write ${good}\`, and the same in redis.conf`,
    },
  );
}

function judgeQuorumReplicas({ replicas }: Info): Verdict {
  if (replicas.length === 0) return ok('none, as it should be in a quorum');
  return warning(`${counted(replicas.length, 'replica')} of a node of a quorum`, {
    risk: 'one that is promoted in its place has forgotten votes, and a majority may then be had twice',
    remedy: 'take them off (`replicaof no one` there): a quorum needs none',
  });
}

/** What a look at the whole needs of one server. */
export function runIdOf({ info }: ServerFacts): string | undefined {
  return factOf(info)?.runId || undefined;
}
