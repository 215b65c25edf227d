import { counted, sayMs } from '../../errors/say.js';
import {
  type Check,
  critical,
  ifSeen,
  type Looked,
  note,
  ok,
  unseen,
  type Verdict,
  warning,
} from '../check.js';
import type { ServerFacts, ZooKeeperFacts } from './facts.js';

export const zookeeperChecks: readonly Check<ZooKeeperFacts>[] = [
  {
    id: 'zookeeper-quorum',
    severities: ['critical'],
    risk: 'no lease is granted or renewed, and those that are held end, until most servers are back',
    remedy: 'start the servers that are missing: `echo srvr | nc HOST 2181` shows which serve',
    judge: ({ isServing }) =>
      isServing
        ? ok('a majority answers')
        : critical('servers answer, and none of them serves requests: they have no majority'),
  },
  {
    id: 'zookeeper-ensemble',
    severities: ['critical'],
    risk: 'each of them grants leases by itself: two processes that reach different ones hold one name',
    remedy:
      'name the servers of one ensemble alone, each by one address: `echo srvr | nc HOST 2181` shows the mode of each',
    judge: ({ servers }) => judgeEnsemble(servers.filter(({ failure }) => failure === undefined)),
  },
  {
    id: 'zookeeper-session',
    severities: ['critical', 'warning'],
    risk: 'a lease is a session: one that ends earlier than its holder believes is granted twice; tenure refuses the ttl',
    remedy:
      'raise maxSessionTimeout on every server (zoo.cfg), or choose a ttl (--ttl) that is granted; say what is granted in the URL: ?largestTtlMs=60000',
    judge({ grantedMs }, { ttlMs }) {
      if (grantedMs === undefined) return undefined;
      const text = `a session of ${sayMs(ttlMs)} is asked for, and ${sayMs(grantedMs)} are granted`;
      if (grantedMs < ttlMs) return critical(text);
      if (grantedMs === ttlMs) return ok(`${sayMs(grantedMs)}, as asked for`);
      return warning(text, {
        risk: 'the name of a dead process stays taken for that long',
        remedy:
          'lower minSessionTimeout on every server (zoo.cfg), and say so in the URL: ?smallestTtlMs=1000; or choose a ttl (--ttl) that is granted',
      });
    },
  },
  {
    id: 'zookeeper-servers',
    severities: ['warning'],
    risk: 'with one more server gone there may be no majority left, and who connects to the missing one has to try again',
    remedy: 'start it, or take it off the URL if it is a member no more',
    judge({ servers }) {
      const gone = servers.filter(({ failure }) => failure !== undefined);
      const text = `${servers.length - gone.length} of ${servers.length} that the URL names answer`;
      if (gone.length === 0) return ok(text);
      return warning(`${text}; ${gone.map(({ failure }) => failure).join('; ')}`);
    },
  },
  {
    id: 'zookeeper-size',
    severities: ['warning'],
    risk: 'the loss of one server stops every lease',
    remedy: 'run an ensemble of three servers, or five (server.N lines in zoo.cfg)',
    judge: ({ voters }) =>
      ifSeen(voters, (count) => {
        if (count === 0) return warning('one server alone (standalone)');
        const text = counted(count, 'voting server');
        if (count < 3) return warning(text);
        if (count % 2 === 1) return ok(text);
        return warning(text, {
          risk: 'an even number bears no more failures than one server less, and has more that can fail',
        });
      }),
  },
  {
    id: 'zookeeper-url',
    severities: ['warning'],
    risk: 'when the servers that are named are gone, nobody finds the others',
    remedy: 'name all servers in the URL',
    judge: ({ voters, servers }) =>
      ifSeen(voters, (count) => {
        const text = `the URL names ${servers.length} of ${counted(Math.max(1, count), 'server')}`;
        return servers.length < count ? warning(text) : ok(text);
      }),
  },
  {
    id: 'zookeeper-version',
    severities: ['critical'],
    risk: 'tenure needs requests that came with 3.5',
    remedy: 'upgrade to 3.5 or later; 3.8.0 is what tenure is tested with',
    judge({ servers }) {
      const answering = servers.filter(({ failure }) => failure === undefined);
      if (answering.length === 0) return undefined;
      const versions = [...new Set(answering.flatMap(({ version }) => version ?? []))];
      if (versions.length === 0) return ifSeen(srvrDenied, () => undefined);
      const text = `ZooKeeper ${versions.join(', ')}`;
      return versions.some(isOld) ? critical(text) : ok(text);
    },
  },
  {
    id: 'zookeeper-chroot',
    severities: ['note'],
    risk: 'the first who acquires makes it, as far as its rights go; if the path is a mistake, two groups of processes do not meet',
    remedy: '`zkCli.sh create PATH`, or correct the path at the end of the URL',
    judge({ chroot, isChrootThere }) {
      if (isChrootThere === undefined) return undefined;
      if (chroot === '') return ok('none, so that everything is below /tenure');
      return isChrootThere ? ok(`${chroot} is there`) : note(`there is no ${chroot} yet`);
    },
  },
  {
    id: 'zookeeper-login',
    severities: ['warning', 'note'],
    risk: 'everybody who can connect to ZooKeeper may read and change the nodes of leases',
    remedy: 'name a user and a password in the URL: zookeeper://user:password@host',
    judge({ login, isLocal }) {
      if (login !== 'none') return ok(`nodes are made for user ${login.user} alone`);
      const text = 'without a user, nodes are made for everybody';
      return isLocal ? note(`${text}, on this machine`) : warning(text);
    },
  },
  {
    id: 'zookeeper-rights',
    severities: ['critical'],
    risk: 'leases of this namespace are refused',
    remedy:
      'give the user of those who made the nodes in the URL, or `zkCli.sh setAcl -R` the nodes to it',
    judge({ mayWrite }) {
      if (mayWrite === undefined) return undefined;
      if (mayWrite) return ok('we may write where the namespace is');
      return critical('we may not write where the namespace is');
    },
  },
];

function judgeEnsemble(answering: readonly ServerFacts[]): Verdict | undefined {
  if (answering.length === 0) return undefined;
  if (answering.length === 1) return ok('one server was asked');
  const alone = answering.filter(
    ({ mode, ensemble }) => mode === 'standalone' || ensemble?.length === 0,
  );
  if (alone.length > 0)
    return critical(`each of these is one server alone (standalone): ${sayAddresses(alone)}`);
  const leaders = answering.filter(({ mode }) => mode === 'leader');
  if (leaders.length > 1) return critical(`each of these leads: ${sayAddresses(leaders)}`);
  const lists = new Set(answering.flatMap(({ ensemble }) => ensemble?.join(' ') ?? []));
  if (lists.size > 1)
    return critical(
      `${sayAddresses(answering)} have ${lists.size} different lists of the servers of their ensemble`,
    );
  return ok(`${counted(answering.length, 'server')} of one ensemble`);
}

const sayAddresses = (servers: readonly ServerFacts[]) =>
  servers.map(({ address }) => address).join(', ');

const srvrDenied: Looked<never> = unseen(
  'no server answers the word `srvr`',
  'allow it in zoo.cfg: 4lw.commands.whitelist=srvr',
);

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 3 || (major === 3 && minor < 5);
}
