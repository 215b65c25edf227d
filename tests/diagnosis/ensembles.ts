import { expect } from 'vitest';
import { etcdCoordinator } from '../../src/etcd.js';
import type { Cause, Coordinator } from '../../src/index.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import { startEtcd, startZooKeeperEnsemble } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { diagnosedWhen, freshNamespace, isWitnessed, leader } from './leader.js';

interface Member {
  readonly host: string;
  readonly port: number;
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

interface Ensemble {
  readonly members: readonly Member[];
  /** Which of the members leads the others. */
  leading(): Promise<Member>;
  stop(): Promise<unknown>;
}

/** A store of three members, and a way to some of them. */
interface Store {
  start(): Promise<Ensemble>;
  connect(members: readonly Member[], namespace: string): Coordinator;
}

export const etcd: Store = {
  start: async () => {
    const cluster = await startEtcd({ members: 3 });
    return {
      members: cluster.members,
      leading: () => cluster.leader(),
      stop: () => cluster.stop(),
    };
  },
  connect: (members, namespace) => etcdCoordinator(`etcd://${placesOf(members)}`, { namespace }),
};

export const zookeeper: Store = {
  start: async () => {
    const members = await startZooKeeperEnsemble({ smallestSessionMs: ttlMs });
    const leading = async () => {
      const modes = await Promise.all(members.map((member) => member.mode()));
      return members[modes.indexOf('leader')];
    };
    return {
      members,
      leading: () => until('a member that leads', leading),
      stop: () => Promise.all(members.map((member) => member.stop())),
    };
  },
  connect: (members, namespace) =>
    zookeeperCoordinator(`zookeeper://${placesOf(members)}`, { namespace, smallestTtlMs: ttlMs }),
};

const ttlMs = 3_000;
const placesOf = (members: readonly Member[]) =>
  members.map(({ host, port }) => `${host}:${port}`).join(',');

/** A leader loses its term because the member that led the others died, and no other could take over in time. */
export async function provesFailover({ start, connect }: Store): Promise<void> {
  const ensemble = await start();
  try {
    const namespace = freshNamespace();
    const leading = await ensemble.leading();
    const [next, slow] = ensemble.members.filter((member) => member !== leading);
    if (next === undefined || slow === undefined) throw new Error('there are three members');
    const led = await leader(connect([leading, next], namespace), { ttlMs });
    await led.renewed(1);
    const lost = led.lost();
    // With one gone and one that stands still there is no majority for another leader yet.
    slow.freeze();
    await leading.kill();
    await lost;
    slow.thaw();
    // It leads again once there is one.
    const operator = connect([next, slow], namespace);
    const { findings } = await until('the loss is told', () =>
      diagnosedWhen(operator, isWitnessed).catch(() => undefined),
    );
    await led.close();
    await operator.close();
    expect(findings[0]).toMatchObject({ cause: 'failover' satisfies Cause });
    expect(findings[0]?.evidence[0]).toMatch(/no server took renewals/);
  } finally {
    await ensemble.stop();
  }
}
