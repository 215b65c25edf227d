import { once } from 'node:events';
import { promisify } from 'node:util';
import zookeeper from 'node-zookeeper-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { OutcomeUnknownError, StoreMisconfiguredError } from '../../src/index.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';
import { call, newNamespace, Process } from './zookeeper-fixture.js';
import { asOperator } from './zookeeper-target.js';

const ttlMs = 5_000;
const longTtlMs = 20_000;
const { namespace, paths } = newNamespace();
const open: { stop(): Promise<void> }[] = [];
let server: ZooKeeperServer;

beforeAll(async () => {
  server = await startZooKeeper({ smallestSessionMs: 3_000 });
});
afterAll(() => server?.stop());
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

async function start(id: string): Promise<Process> {
  const one = await Process.start(server, id, { namespace });
  open.push(one);
  return one;
}

/** Takes all rights on the node from everybody but somebody else. */
async function lock(path: string): Promise<void> {
  const admin = zookeeper.createClient(`${server.host}:${server.port}`);
  admin.connect();
  await once(admin, 'connected');
  const nobody = new zookeeper.ACL(
    zookeeper.Permission.ALL,
    new zookeeper.Id('digest', 'somebody:else'),
  );
  await promisify((done: (error: Error | zookeeper.Exception | null) => void) =>
    admin.setACL(path, [nobody], -1, (error) => done(error)),
  )();
  admin.close();
}

describe('a batch that is executed in part', () => {
  it('is no clean failure: an acquire of which one name is refused may have granted the others', async () => {
    const [ann, bob] = [await start('ann'), await start('bob')];
    await ann.take('locked/first', ttlMs);
    await lock(paths.group('locked'));
    const [free, locked] = [ann.request('free', ttlMs), ann.request('locked/a', longTtlMs)];
    const acquiring = ann.client.acquire([locked, free], call);
    await expect(acquiring).rejects.toThrow(OutcomeUnknownError);
    await expect(acquiring).rejects.toThrow('NO_AUTH');
    expect(await bob.tries('free')).toBe('held');
    await expect(ann.client.acquire([locked], call)).rejects.toThrow(StoreMisconfiguredError);
    expect(await ann.client.acquire([free], call)).toMatchObject([{ outcome: 'granted' }]);
  });

  it('is no clean failure: a renewal of which one is refused may have renewed the others', async () => {
    const [ann, names] = [await start('ann'), ['short', 'long']];
    const requests = [ann.request('short', ttlMs), ann.request('long', longTtlMs)];
    const results = await ann.client.acquire(requests, call);
    await lock(paths.lease('long', requests[1]?.attempt ?? ''));
    const before = await renewalsOf('short', requests[0]?.attempt);
    const renewals = results.map((result, index) => ({
      name: names[index] ?? '',
      holder: ann.holder,
      term: result.outcome === 'granted' ? result.term : 0,
      ttlMs: index === 0 ? ttlMs : longTtlMs,
    }));
    await expect(ann.client.renew(renewals.reverse(), call)).rejects.toThrow(OutcomeUnknownError);
    expect(await renewalsOf('short', requests[0]?.attempt)).toBeGreaterThan(before);
    await expect(ann.client.renew(renewals.slice(0, 1), call)).rejects.toThrow(
      StoreMisconfiguredError,
    );
  });
});

async function renewalsOf(name: string, attempt = ''): Promise<number> {
  const path = paths.lease(name, attempt);
  return asOperator(server, async (connection) => (await connection.getData(path)).stat.version);
}
