import { describe, it, vi } from 'vitest';
import { conformanceCases, runConformanceCase } from '../../src/testing.js';
import { startEtcd } from '../support/servers/index.js';
import { etcdTarget } from './etcd-target.js';

vi.setConfig({ testTimeout: 60_000 });

const restarting = conformanceCases.filter(
  ({ needs, exemption }) =>
    needs.includes('restartKeepingData') &&
    exemption(etcdTarget(() => never()).promises) === undefined,
);

/** The cases that restart the server, each with one of its own. */
describe.concurrent('coordinator conformance: etcd, restarted', () => {
  for (const one of restarting) {
    it(`${one.id}: ${one.title}`, async () => {
      const cluster = await startEtcd();
      try {
        await runConformanceCase(
          one,
          etcdTarget(() => cluster),
        );
      } finally {
        await cluster.stop();
      }
    });
  }
});

function never(): never {
  throw new Error('no case is run on this');
}
