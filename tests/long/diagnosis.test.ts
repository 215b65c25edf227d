import { describe, it } from 'vitest';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import { provesFailover, zookeeper } from '../diagnosis/ensembles.js';
import { registerCauses, type Server } from '../diagnosis/server-causes.js';
import { startZooKeeper } from '../support/servers/index.js';

async function oneServer(): Promise<Server> {
  const server = await startZooKeeper({ smallestSessionMs: 4_000 });
  return {
    port: server.port,
    coordinator: (namespace, port = server.port) =>
      zookeeperCoordinator(`zookeeper://127.0.0.1:${port}`, { namespace }),
    kill: () => server.kill(),
    restart: () => server.restart({ keepData: true }),
    stop: () => server.stop(),
  };
}

registerCauses('ZooKeeper', { start: oneServer, tightMs: 180 });

describe('on three servers of ZooKeeper, the cause that is named first', () => {
  it('is the failover, where the leading one died and no other took over in time', () =>
    provesFailover(zookeeper));
});
