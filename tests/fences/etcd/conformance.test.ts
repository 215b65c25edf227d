import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerBatchFenceConformance } from '../../../src/fences/conformance/index.js';
import { type EtcdCluster, startEtcd } from '../../support/servers/index.js';
import { etcdSubject } from './subject.js';

let cluster: EtcdCluster;

beforeAll(async () => {
  cluster = await startEtcd();
}, 60_000);

afterAll(async () => await cluster?.stop());

registerBatchFenceConformance('the etcd fence', async () => etcdSubject(cluster.url), {
  describe: describe.concurrent,
  it: (title, run) => it(title, run, 60_000),
});
