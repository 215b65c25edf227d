import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { etcdTarget } from './etcd-target.js';

// Store leases count whole seconds, so cases wait for seconds; they do so side by side.
vi.setConfig({ maxConcurrency: 20, testTimeout: 120_000 });

let cluster: EtcdCluster;

beforeAll(async () => {
  cluster = await startEtcd();
});
afterAll(() => cluster.stop());

registerCoordinatorConformance(
  etcdTarget(() => cluster, {
    restartKeepingData: 'the cases here share one server; those that restart it have another',
  }),
  { describe: describe.concurrent as never, it },
);
