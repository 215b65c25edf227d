import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseZooKeeperUrl, ZooKeeperConnection } from '../../src/drivers/zookeeper/index.js';
import { realRuntime } from '../../src/time/index.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import {
  startZooKeeper,
  startZooKeeperEnsemble,
  type ZooKeeperServer,
} from '../support/servers/index.js';
import { doctor, doctorText } from './doctor.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const password = 'hunter2-secret';

describe('the doctor on one ZooKeeper', () => {
  let server: ZooKeeperServer;

  beforeAll(async () => {
    server = await startZooKeeper({ smallestSessionMs: 4_000, largestSessionMs: 40_000 });
  });
  afterAll(() => server.stop());

  /** All nodes, and the number of the last transaction that touched one. */
  async function tree(login?: string): Promise<string[]> {
    const [place] = parseZooKeeperUrl(server.url).servers;
    if (place === undefined) throw new Error('no server');
    const options = { runtime: realRuntime, server: place, login, sessionTimeoutMs: 10_000 };
    const connection = await ZooKeeperConnection.open({ ...options, connectTimeoutMs: 10_000 });
    const below = async (path: string): Promise<string[]> => {
      const names = await connection.getChildren(path);
      const { stat } = await connection.getData(path);
      const nested = await Promise.all(
        names.map((name) => below(path === '/' ? `/${name}` : `${path}/${name}`)),
      );
      return [`${path} ${stat.modifiedZxid} ${stat.childCount}`, ...nested.flat()];
    };
    const all = await below('/');
    connection.endSession();
    return all.sort();
  }

  it('finds that it is one alone and open to all, and nothing else', async () => {
    const { status, of, find } = await doctor(server.url, '--ttl', '30s');
    expect(of('critical')).toEqual([]);
    expect(of('warning')).toEqual(['zookeeper-size']);
    expect(of('note')).toEqual(['zookeeper-login']);
    expect(find('zookeeper-version').seen).toBe('ZooKeeper 3.8.0');
    expect(find('round-trip').severity).toBe('ok');
    expect(status).toBe(0);
  });

  it('finds a session that is capped, and one that is longer than asked for', async () => {
    const long = await doctor(`${server.url}?largestTtlMs=60000`, '--ttl', '60s');
    expect(long.of('critical')).toEqual(['zookeeper-session']);
    expect(long.find('zookeeper-session')).toMatchObject({
      seen: 'a session of 60 s is asked for, and 40 s are granted',
      remedy: expect.stringContaining('maxSessionTimeout'),
    });
    expect(long.status).toBe(78);
    const short = await doctor(`${server.url}?smallestTtlMs=1000`, '--ttl', '2s');
    expect(short.find('zookeeper-session').severity).toBe('warning');
    const refused = await doctor(server.url, '--ttl', '2s');
    expect(refused.of('critical')).toEqual(['ttl']);
  });

  it('makes no node, and tells whether the path of the URL is there', async () => {
    const before = await tree();
    const { find } = await doctor(`${server.url}/apps`, '--ttl', '30s');
    expect(find('zookeeper-chroot')).toMatchObject({
      severity: 'note',
      seen: 'there is no /apps yet',
    });
    expect(await tree()).toEqual(before);
  });

  it('tells a user who may not write from the one who made the nodes, and prints no password', async () => {
    const own = server.url.replace('//', `//ann:${password}@`);
    const owner = zookeeperCoordinator(own, { namespace: 'guarded' });
    await owner.writeDocument('pins', '{}', 0, { timeoutMs: 30_000 });
    await owner.close();
    const before = await tree(`ann:${password}`);
    const ours = await doctor(own, '--ttl', '30s', '--namespace', 'guarded');
    expect(ours.find('zookeeper-rights').severity).toBe('ok');
    expect(ours.of('note')).toEqual([]);
    expect(ours.outcome.stdout).not.toContain(password);
    const others = server.url.replace('//', '//bob:secret@');
    const theirs = await doctor(others, '--ttl', '30s', '--namespace', 'guarded');
    expect(theirs.of('critical')).toEqual(['zookeeper-rights']);
    expect(await tree(`ann:${password}`)).toEqual(before);
  });

  it('finds that another server of the URL is one alone as well', async () => {
    const other = await startZooKeeper();
    try {
      const [first, second] = [server, other].map(({ host, port }) => `${host}:${port}`);
      for (const url of [`zookeeper://${first},${second}`, `zookeeper://${second},${first}`]) {
        const { status, of, find } = await doctor(url);
        expect(of('critical')).toContain('zookeeper-ensemble');
        expect(find('zookeeper-ensemble').seen).toContain('one server alone (standalone): ');
        expect(status).toBe(78);
      }
    } finally {
      await other.stop();
    }
  });

  it('is not there', async () => {
    const { status, stderr } = await doctorText('zookeeper://127.0.0.1:1');
    expect(status).toBe(69);
    expect(stderr).toContain('nothing listens there');
  });
});

describe('the doctor on an ensemble of three', () => {
  let members: ZooKeeperServer[];
  let url: string;

  beforeAll(async () => {
    members = await startZooKeeperEnsemble();
    url = `zookeeper://${members.map(({ host, port }) => `${host}:${port}`).join(',')}`;
  });
  afterAll(() => Promise.all(members.map((member) => member.stop())));

  it('finds nothing but that it is open to all, until a server is gone, and then the majority', async () => {
    const good = await doctor(url, '--ttl', '30s');
    expect([...good.of('critical'), ...good.of('warning')]).toEqual([]);
    expect(good.find('zookeeper-ensemble').seen).toBe('3 servers of one ensemble');
    expect((await doctor(members[0]?.url ?? '')).of('warning')).toEqual(['zookeeper-url']);
    const [one, two, three] = members;
    await one?.kill();
    const modes = () => Promise.all([two?.mode(), three?.mode()]);
    while (!(await modes()).includes('leader') || (await modes()).includes(undefined));
    const minor = await doctor(url);
    expect(minor.of('warning')).toEqual(['zookeeper-servers']);
    expect(minor.find('zookeeper-servers').seen).toContain(`127.0.0.1:${one?.port}`);
    await two?.kill();
    while ((await three?.mode()) !== undefined);
    const major = await doctor(url);
    expect(major.of('critical')).toEqual(['zookeeper-quorum']);
    expect(major.status).toBe(78);
  });
});
