import { once } from 'node:events';
import { promisify } from 'node:util';
import zookeeper from 'node-zookeeper-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ZooKeeperConnection } from '../../src/drivers/zookeeper/index.js';
import { OutcomeUnknownError, StoreMisconfiguredError } from '../../src/index.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { call, newNamespace, Process } from './zookeeper-fixture.js';
import { asOperator, hasMulti } from './zookeeper-target.js';

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

describe('a lease whose time is over', () => {
  it('is not revived by a renewal that overtakes its end', async () => {
    const [ann, job] = [await start('ann'), 'blocked'];
    const term = await ann.take(job, longTtlMs);
    // Shorter than its session, which outlives the pause.
    expect(await ann.renew(job, term, 600)).toEqual({ outcome: 'renewed' });
    blockLoop(650);
    expect(await ann.renew(job, term, 600)).toMatchObject({ outcome: 'not-yours' });
    expect(await ann.tries(job)).toBe('granted');
  });

  it('is not renewed by what waited for a connection beyond that time', async () => {
    const [ann, job] = [await start('ann'), 'waiting'];
    const term = await ann.take(job, longTtlMs);
    await ann.renew(job, term, 1_000);
    const disconnected = new Promise<void>((resolve) => {
      ann.client.on('disconnected', () => resolve());
    });
    await ann.vanish();
    await disconnected;
    const renewal = { name: job, holder: ann.holder, term, ttlMs: 1_000 };
    const renewing = ann.client.renew([renewal], { timeoutMs: 4_000 });
    await pause(1_100);
    ann.proxy.heal();
    expect(await renewing).toMatchObject([{ outcome: 'not-yours' }]);
  });

  it('goes, with its node, although the connection was lost while it was ended', async () => {
    const [ann, job] = [await start('ann'), 'unheard'];
    await ann.client.enroll([candidate(ann, job, 1_000)], call);
    expect(await candidatesOf(job)).toHaveLength(1);
    ann.proxy.up.set({ kind: 'judge', fateOf: (bytes) => (hasMulti(bytes) ? 'swallow' : 'none') });
    await ann.proxy.up.caught();
    await ann.vanish();
    // Longer than the attempt to end it.
    await pause(600);
    ann.proxy.heal();
    await until('its end', async () => (await candidatesOf(job)).length === 0);
  });
});

describe('the nodes of the namespace', () => {
  it.each(['granted', 'bells', 'documents'])('are made anew if only %s is gone', async (node) => {
    const ann = await start('ann');
    await ann.take(`before-${node}`, longTtlMs);
    await asOperator(server, (connection) => deleteAll(connection, `${paths.root}/${node}`));
    ann.proxy.reset();
    const bob = await start('bob');
    await bob.take(`after-${node}`, longTtlMs);
    await ann.take(`too-${node}`, longTtlMs);
    expect(await bob.client.writeDocument(`after-${node}`, 'text', 0, call)).toMatchObject({
      outcome: 'written',
    });
  });
});

const pause = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs));

/** Nothing of this process goes on meanwhile. */
function blockLoop(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}

function candidate({ holder }: Process, name: string, candidateTtlMs: number) {
  const entry = { name, holder, ttlMs: candidateTtlMs, preference: 0 };
  return { ...entry, standing: 'waiting' } as const;
}

const candidatesOf = (name: string) =>
  asOperator(server, (connection) => connection.getChildren(paths.name(name)));

async function deleteAll(connection: ZooKeeperConnection, path: string): Promise<void> {
  for (const child of await connection.getChildren(path))
    await deleteAll(connection, `${path}/${child}`);
  await connection.delete(path);
}

async function renewalsOf(name: string, attempt = ''): Promise<number> {
  const path = paths.lease(name, attempt);
  return asOperator(server, async (connection) => (await connection.getData(path)).stat.version);
}
