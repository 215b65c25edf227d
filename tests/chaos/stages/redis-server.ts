import type { RedisServer } from '../../support/servers/redis.js';
import { ask } from '../../support/servers/redis-replication.js';
import type { Disturbance } from '../faults/fault.js';
import { clockStepMs } from '../faults/processes.js';

type Pick = (place: number) => Promise<RedisServer>;

const nothing = async () => {};

/** Who holders are at Redis, so that their password can be changed while the others' stays. */
export const user = 'holder';
export const password = 'of-the-holders';
export const userArgs: readonly string[] = [
  '--user',
  user,
  'on',
  `>${password}`,
  '~*',
  '&*',
  '+@all',
];

/** What can happen to a server that `pick` chooses, and leaves it with its data. */
export function serverFaults(pick: Pick): Record<string, Disturbance> {
  return {
    async 'server killed'(_, { place }) {
      const server = await pick(place);
      await server.kill();
      return () => server.restart({ keepData: true });
    },
    async 'server frozen'(_, { place }) {
      const server = await pick(place);
      server.freeze();
      return async () => server.thaw();
    },
    async 'server clock'(_, { place, amount }) {
      const server = await pick(place);
      const stepMs = clockStepMs(amount);
      server.stepClock(stepMs);
      return async () => server.stepClock(-stepMs);
    },
    async 'scripts flushed'(_, { place }) {
      await ask(await pick(place), 'SCRIPT', 'FLUSH');
      return nothing;
    },
  };
}

/** What loses data at such a server. */
export function dataFaults(pick: Pick): Record<string, Disturbance> {
  return {
    async 'server killed and emptied'(_, { place }) {
      const server = await pick(place);
      await server.kill();
      return () => server.restart({ keepData: false });
    },
    async 'data flushed'(_, { place }) {
      await ask(await pick(place), 'FLUSHALL');
      return nothing;
    },
    /** Every key goes, and nothing more fits in. */
    evicted: (_, { place }) => limitMemory(pick, place, 'allkeys-random'),
    'memory full': (_, { place }) => limitMemory(pick, place, 'noeviction'),
  };
}

async function limitMemory(
  pick: Pick,
  place: number,
  policy: string,
): Promise<() => Promise<void>> {
  const server = await pick(place);
  await ask(server, 'CONFIG', 'SET', 'maxmemory-policy', policy, 'maxmemory', '1mb');
  return async () => {
    await ask(server, 'CONFIG', 'SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
  };
}

/** Nobody logs in with the password that holders have, until it is taken back. */
export function passwordChanged(servers: () => Promise<readonly RedisServer[]>): Disturbance {
  return async () => {
    const all = await servers();
    for (const server of all) {
      await ask(server, 'ACL', 'SETUSER', user, 'resetpass', '>another');
      await ask(server, 'CLIENT', 'KILL', 'USER', user);
    }
    return async () => {
      for (const server of all) await ask(server, 'ACL', 'SETUSER', user, `>${password}`);
    };
  };
}
