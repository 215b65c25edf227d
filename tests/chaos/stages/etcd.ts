import { type EtcdCluster, type EtcdMember, startEtcd } from '../../support/servers/etcd.js';
import { partitionFaults } from '../faults/partitions.js';
import type { Stage } from '../stage.js';
import { noSeparateHosts, SeparateHosts } from './separate-hosts.js';
import { timingOf } from './timing.js';
import { hostsOf, Ways } from './ways.js';

/** Small, so that it can be filled. */
const quotaBytes = 16 * 1024 * 1024;

/** Three members, each on a host of its own if there can be such. */
export async function etcdStage(): Promise<Stage> {
  const args = ['--quota-backend-bytes', String(quotaBytes)];
  const network = noSeparateHosts === undefined ? SeparateHosts.open(3) : undefined;
  const cluster = await startEtcd({ members: 3, args, ...(network && { hosts: network.hosts }) });
  const { members } = cluster;
  const ways = new Ways();
  const pick = (place: number) => {
    const member = members[Math.floor(place * members.length)];
    if (member === undefined) throw new Error('there is no member');
    return member;
  };
  const frozen = (member: EtcdMember) => {
    member.freeze();
    return async () => member.thaw();
  };
  const leader = () => retried(() => cluster.leader());
  return {
    timing: timingOf(4_000),
    async connect() {
      const proxies = await ways.to(members);
      return { connection: { url: `etcd://${hostsOf(proxies)}` }, proxies };
    },
    disturbances: {
      async 'member killed'(_, { place }) {
        const member = pick(place);
        await member.kill();
        return () => member.restart({ keepData: true });
      },
      'member frozen': async (_, { place }) => frozen(pick(place)),
      'leader frozen': async () => frozen(await leader()),
      async 'leader killed'() {
        const member = await leader();
        await member.kill();
        return () => member.restart({ keepData: true });
      },
      async 'all killed'() {
        await Promise.all(members.map((member) => member.kill()));
        return async () => {
          await Promise.all(members.map((member) => member.restart({ keepData: true })));
        };
      },
      /** As when the disk is full: nothing can be written any more (the alarm NOSPACE). */
      async 'no space'() {
        await fill(cluster);
        return () => makeRoom(cluster);
      },
      ...(network &&
        partitionFaults({ network, leaderPlace: async () => members.indexOf(await leader()) })),
    },
    impossible: {
      ...(noSeparateHosts !== undefined && { 'partitions between members': noSeparateHosts }),
      'server clock': 'etcd asks the kernel for the time, past the library that could lie to it',
    },
    async stop() {
      await ways.stop();
      await cluster.stop();
      await network?.close();
    },
  };
}

const fillerKey = 'chaos-filler';

/** Over HTTP: the programs of a command line take no such values. */
async function fill({ members }: EtcdCluster): Promise<void> {
  const [{ host, port }] = members as [EtcdMember];
  const value = Buffer.alloc(1_000_000).toString('base64');
  const body = JSON.stringify({ key: Buffer.from(fillerKey).toString('base64'), value });
  for (let count = 0; count < 40; count++) {
    const answer = await fetch(`http://${host}:${port}/v3/kv/put`, { method: 'POST', body });
    if (!answer.ok) return;
  }
}

async function makeRoom({ etcdctl }: EtcdCluster): Promise<void> {
  await retried(async () => {
    const [status] = JSON.parse(await etcdctl('endpoint', 'status', '-w', 'json')) as {
      Status: { header: { revision: number } };
    }[];
    await etcdctl('compact', String(status?.Status.header.revision)).catch(() => {});
    await etcdctl('defrag');
    await etcdctl('alarm', 'disarm');
    await etcdctl('del', fillerKey);
  });
}

/** While there is no leader nothing is answered. */
async function retried<Result>(act: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      if (attempt === 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}
