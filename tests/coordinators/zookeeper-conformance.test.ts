import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import zookeeper from 'node-zookeeper-client';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';
import { caseChroot, caseLogin, zookeeperTarget } from './zookeeper-target.js';

let server: ZooKeeperServer;

beforeAll(async () => {
  server = await startZooKeeper({ clock: true, smallestSessionMs: 350 });
  await giveRights(server);
});
afterAll(() => server?.stop());

/** As an administrator does it, with another client: a path for the user, in a folder in which nobody may make anything. */
async function giveRights({ host, port }: ZooKeeperServer): Promise<void> {
  const admin = zookeeper.createClient(`${host}:${port}`);
  admin.connect();
  await once(admin, 'connected');
  const [user] = caseLogin.split(':');
  const digest = createHash('sha1').update(caseLogin).digest('base64');
  const nobody = new zookeeper.ACL(zookeeper.Permission.READ, new zookeeper.Id('world', 'anyone'));
  const owner = new zookeeper.ACL(
    zookeeper.Permission.ALL,
    new zookeeper.Id('digest', `${user}:${digest}`),
  );
  await promisify((done: (error: Error | zookeeper.Exception | null) => void) =>
    admin
      .transaction()
      .create('/limited')
      .create(caseChroot, undefined, [owner], zookeeper.CreateMode.PERSISTENT)
      .commit((error) => done(error)),
  )();
  await promisify((done: (error: Error | zookeeper.Exception | null) => void) =>
    admin.setACL('/limited', [nobody], -1, (error) => done(error)),
  )();
  admin.close();
}

/** What it does to the server meets every case that runs beside it. */
const aboutTheServer =
  /^(?:restarts|clock|batches)\/|^[a-z-]+\/(?:restart|connection-lost|reconnect|batch):/;

registerCoordinatorConformance(
  zookeeperTarget('zookeeper', () => server),
  {
    describe: describe.concurrent,
    it: (title, run) =>
      aboutTheServer.test(title) ? it.sequential(title, run) : it.concurrent(title, run),
  },
);
