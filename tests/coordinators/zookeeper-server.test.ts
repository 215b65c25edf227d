import { describe, expect, it } from 'vitest';
import { StoreMisconfiguredError } from '../../src/index.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import { until } from '../support/until.js';
import { call, isFree, newNamespace, Process, pause, useZooKeeper } from './zookeeper-fixture.js';
import { asOperator } from './zookeeper-target.js';

const ttlMs = 700;
const longTtlMs = 20_000;

const onServer = useZooKeeper('jobs/nightly', { clock: true });
const { open, namespace, newName, start } = onServer;

describe('a server', () => {
  it('that is frozen is noticed in time, and the lease is there when it goes on', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const term = await ann.take(job, longTtlMs);
    onServer.server.freeze();
    try {
      // A signal takes a moment to stop every thread.
      await pause(100);
      const startedMs = performance.now();
      const renewal = ann.client.renew(
        [{ name: job, holder: ann.holder, term, ttlMs: longTtlMs }],
        { timeoutMs: 400 },
      );
      await expect(renewal).rejects.toThrow('may have been executed');
      expect(performance.now() - startedMs).toBeLessThan(3_000);
    } finally {
      onServer.server.thaw();
    }
    await until('a renewal', async () => {
      const renewed = await ann.renew(job, term, longTtlMs).catch(() => undefined);
      return renewed?.outcome === 'renewed';
    });
  });

  it('has a clock that can be stepped, as the conformance cases assume', async () => {
    const touch = () =>
      asOperator(onServer.server, async (connection) => {
        const { stat } = await connection.setData('/', Buffer.alloc(0));
        return stat?.modifiedAtMs ?? 0;
      });
    const beforeMs = await touch();
    onServer.server.stepClock(3_600_000);
    expect((await touch()) - beforeMs).toBeGreaterThan(3_500_000);
    onServer.server.stepClock(-3_600_000);
  });

  it('that grants no session as long as the ttl is refused, by name', async () => {
    const ann = await start('ann', { largestTtlMs: 120_000 });
    await expect(ann.take(newName(), 90_000)).rejects.toThrow(StoreMisconfiguredError);
    await expect(ann.take(newName(), 90_000)).rejects.toThrow('maxSessionTimeout');
  });

  it('is told apart from a foreign text in the root of the namespace', async () => {
    const own = newNamespace();
    const ann = await start('ann', { namespace: own.namespace });
    await ann.client.read(['x'], call);
    await asOperator(onServer.server, (connection) =>
      connection.setData(own.paths.root, Buffer.from('somebody else wrote this')),
    );
    await expect(ann.take('x', ttlMs)).rejects.toThrow('holds no text of tenure');
  });
});

describe('the node of a name', () => {
  it('goes when nobody has used it for hours: first it is marked, and whoever needs it then makes a new one', async () => {
    const own = newNamespace();
    const inOwn = { namespace: own.namespace };
    const hourMs = 3_660_000;
    const ann = await start('ann', inOwn);
    for (const one of ['idle/gone', 'idle/again'])
      await ann.release(one, await ann.take(one, longTtlMs));
    await ann.client.suspend('idle/stopped', { by: 'ops', reason: 'not now' }, call);
    const held = await ann.take('idle/held', longTtlMs);
    const text = (one: string) =>
      asOperator(onServer.server, (connection) => connection.getData(own.paths.name(one))).then(
        ({ data }) => data.toString(),
        () => 'none',
      );
    // Each process looks after its first acquire, and then now and then.
    const look = async () => {
      const one = await start('looker', inOwn);
      return one.take('idle/other', longTtlMs).then((term) => one.release('idle/other', term));
    };
    onServer.server.stepClock(hourMs);
    await look();
    await until('the mark', async () => (await text('idle/gone')).includes('swept'));
    expect(await isFree(ann.client, 'idle/again')).toBe(true);
    const again = await ann.take('idle/again', longTtlMs);
    onServer.server.stepClock(hourMs);
    await look();
    await until('the end of the node', async () => (await text('idle/gone')) === 'none');
    expect(await ann.renew('idle/again', again, longTtlMs)).toEqual({ outcome: 'renewed' });
    expect(await ann.renew('idle/held', held, longTtlMs)).toEqual({ outcome: 'renewed' });
    expect(await ann.tries('idle/stopped')).toBe('held');
    await ann.take('idle/gone', longTtlMs);
    onServer.server.stepClock(-2 * hourMs);
  });
});

describe('the path and the login in the URL', () => {
  it('a path that is missing is made, and everything stands below it', async () => {
    const ann = await Process.start(
      onServer.server,
      'ann',
      { namespace },
      (port) => `zookeeper://127.0.0.1:${port}/apps/billing`,
    );
    open.push(ann);
    await ann.take('x', ttlMs);
    const children = await asOperator(onServer.server, (connection) =>
      connection.getChildren('/apps/billing/tenure'),
    );
    expect(children).toHaveLength(1);
  });

  it('with a login nobody else can read, and a wrong password is refused and never printed', async () => {
    const withLogin = (login: string) => (port: number) =>
      `zookeeper://${login}@127.0.0.1:${port}/secret`;
    const own = newNamespace();
    const options = { namespace: own.namespace };
    const ann = await Process.start(
      onServer.server,
      'ann',
      options,
      withLogin('app:open%40sesame'),
    );
    const eve = await Process.start(onServer.server, 'eve', options, withLogin('app:wrongword'));
    open.push(ann, eve);
    const warnings: string[] = [];
    ann.client.on('warning', ({ message }) => warnings.push(message));
    await ann.take('x', ttlMs);
    expect(warnings).toEqual([]);
    const refused = eve.tries('x');
    await expect(refused).rejects.toThrow(StoreMisconfiguredError);
    await expect(refused).rejects.toThrow('NO_AUTH');
    await expect(refused).rejects.not.toThrow('wrongword');
    await asOperator(onServer.server, async (connection) => {
      await expect(connection.getData('/secret/tenure')).rejects.toThrow('NO_AUTH');
    });
  });

  it('without a login a warning says that everybody has all rights', async () => {
    const ann = await start('ann');
    const warnings: string[] = [];
    ann.client.on('warning', ({ message }) => warnings.push(message));
    await ann.client.read(['x'], call);
    await until('the warning', () => warnings.length > 0);
    expect(warnings[0]).toContain('user and a password');
  });

  it.each([
    ['http://127.0.0.1', 'url'],
    ['zookeeper://', 'url'],
    ['zookeeper://a:1,b:99999', 'url'],
    ['zookeeper://host/a/../b', 'url'],
    ['zookeeper://user@host', 'url'],
    ['zookeeper://host?sessionMs=1', 'url'],
    ['zookeeper://host?smallestTtlMs=500&largestTtlMs=400', 'largestTtlMs'],
  ])('%s is refused', (url, option) => {
    expect(() => zookeeperCoordinator(url)).toThrow(expect.objectContaining({ option }));
  });
});

it('the limits of a ttl can stand in the URL', () => {
  const client = zookeeperCoordinator('zookeeper://host/a?smallestTtlMs=300&largestTtlMs=6000');
  expect(client.promises).toMatchObject({ smallestTtlMs: 300, largestTtlMs: 6_000 });
});
