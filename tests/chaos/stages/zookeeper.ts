import { startZooKeeperEnsemble, type ZooKeeperServer } from '../../support/servers/zookeeper.js';
import { clockStepMs } from '../faults/processes.js';
import type { Stage } from '../stage.js';
import { timingOf } from './timing.js';
import { hostsOf, Ways } from './ways.js';

/** Three members of one ensemble. */
export async function zookeeperStage(): Promise<Stage> {
  const members = await startZooKeeperEnsemble({ clock: true });
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
      const proxies = await ways.to(members.map(({ port }) => port));
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
    },
    async stop() {
      await ways.stop();
      await Promise.all(members.map((member) => member.stop()));
    },
  };
}
