import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';
import { zookeeperTarget } from './zookeeper-target.js';

let server: ZooKeeperServer;

beforeAll(async () => {
  server = await startZooKeeper({ clock: true });
});
afterAll(() => server?.stop());

/** What it does to the server meets every case that runs beside it. */
const aboutTheServer = /^(?:restarts|clock)\/|^[a-z-]+\/(?:restart|connection-lost|reconnect):/;

registerCoordinatorConformance(
  zookeeperTarget('zookeeper', () => server),
  {
    describe: describe.concurrent,
    it: (title, run) =>
      aboutTheServer.test(title) ? it.sequential(title, run) : it.concurrent(title, run),
  },
);
