import { FaultProxy } from '../../support/proxy.js';
import { startRedis } from '../../support/servers/redis.js';
import { ask } from '../../support/servers/redis-replication.js';
import { clockStepMs } from '../faults/processes.js';
import type { Stage } from '../stage.js';
import { timingOf } from './timing.js';

const user = 'holder';
const password = 'of-the-holders';

/** One Redis that writes every command to its disk. */
export async function redisStage(): Promise<Stage> {
  const server = await startRedis({
    appendonly: 'always',
    clock: true,
    args: ['--user', user, 'on', `>${password}`, '~*', '&*', '+@all'],
  });
  const proxies: FaultProxy[] = [];
  const restart = async (keepData: boolean) => {
    await server.kill();
    return async () => server.restart({ keepData });
  };
  return {
    timing: timingOf(2_000),
    async connect() {
      const proxy = await FaultProxy.start(server.port);
      proxies.push(proxy);
      const url = `redis://${user}:${password}@127.0.0.1:${proxy.port}`;
      return { connection: { url }, proxies: [proxy] };
    },
    disturbances: {
      'server killed': () => restart(true),
      'server killed, data lost': () => restart(false),
      async 'server frozen'() {
        server.freeze();
        return async () => server.thaw();
      },
      async 'server clock'(_, { amount }) {
        const stepMs = clockStepMs(amount);
        server.stepClock(stepMs);
        return async () => server.stepClock(-stepMs);
      },
      async 'scripts flushed'() {
        await ask(server, 'SCRIPT', 'FLUSH');
        return async () => {};
      },
      async 'data flushed'() {
        await ask(server, 'FLUSHALL');
        return async () => {};
      },
      async 'credentials changed'() {
        await ask(server, 'ACL', 'SETUSER', user, 'resetpass', '>another');
        await ask(server, 'CLIENT', 'KILL', 'USER', user);
        return async () => {
          await ask(server, 'ACL', 'SETUSER', user, `>${password}`);
        };
      },
    },
    async stop() {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
      await server.stop();
    },
  };
}
