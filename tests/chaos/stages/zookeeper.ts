import { startZooKeeperEnsemble, type ZooKeeperServer } from '../../support/servers/zookeeper.js';
import { partitionFaults } from '../faults/partitions.js';
import { clockStepMs } from '../faults/processes.js';
import type { Stage } from '../stage.js';
import { noSeparateHosts, SeparateHosts } from './separate-hosts.js';
import { timingOf } from './timing.js';
import { hostsOf, Ways } from './ways.js';

/** Three members of one ensemble, each on a host of its own if there can be such. */
export async function zookeeperStage(): Promise<Stage> {
  const network = noSeparateHosts === undefined ? SeparateHosts.open(3) : undefined;
  const members = await startZooKeeperEnsemble({
    clock: true,
    ...(network && { hosts: network.hosts }),
  });
  const ways = new Ways();
  const pick = (place: number) => {
    const member = members[Math.floor(place * members.length)];
    if (member === undefined) throw new Error('there is no member');
    return member;
  };
  const leader = async () => {
    for (const member of members) if ((await member.mode()) === 'leader') return member;
    return pick(0);
  };
  const frozen = (member: ZooKeeperServer) => {
    member.freeze();
    return async () => member.thaw();
  };
  const killed = async (some: readonly ZooKeeperServer[], keepData: boolean) => {
    await Promise.all(some.map((member) => member.kill()));
    return async () => {
      await Promise.all(some.map((member) => member.restart({ keepData })));
    };
  };
  return {
    timing: timingOf(4_000),
    async connect() {
      const proxies = await ways.to(members);
      return { connection: { url: `zookeeper://${hostsOf(proxies)}` }, proxies };
    },
    disturbances: {
      'member killed': (_, { place }) => killed([pick(place)], true),
      /** The two others have all that it had. */
      'member killed and emptied': (_, { place }) => killed([pick(place)], false),
      'leader killed': async () => killed([await leader()], true),
      'member frozen': async (_, { place }) => frozen(pick(place)),
      'leader frozen': async () => frozen(await leader()),
      'all killed': () => killed(members, true),
      'all killed and emptied': () => killed(members, false),
      async 'server clock'(_, { place, amount }) {
        const member = pick(place);
        const stepMs = clockStepMs(amount);
        member.stepClock(stepMs);
        return async () => member.stepClock(-stepMs);
      },
      ...(network &&
        partitionFaults({ network, leaderPlace: async () => members.indexOf(await leader()) })),
    },
    ...(noSeparateHosts !== undefined && {
      impossible: { 'partitions between members': noSeparateHosts },
    }),
    async stop() {
      await ways.stop();
      await Promise.all(members.map((member) => member.stop()));
      await network?.close();
    },
  };
}
