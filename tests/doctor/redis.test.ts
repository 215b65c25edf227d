import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { doctor, doctorText } from './doctor.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const password = 'hunter2-secret';

describe('the doctor on one Redis server', () => {
  let server: RedisServer;
  let admin: Redis;
  let url: string;

  beforeAll(async () => {
    server = await startRedis({ appendonly: 'always', args: ['--repl-diskless-sync-delay', '0'] });
    admin = new Redis(server.url);
    const { leastRights, furtherRights } = await doctor(server.url);
    const all = [...leastRights, ...Object.values(furtherRights).flat()];
    await command(...all.map((line) => line.replace('PASSWORD', password)));
    url = server.url.replace('//', `//tenure:${password}@`);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  async function command(...lines: readonly string[]): Promise<void> {
    for (const line of lines) {
      const [name = '', ...words] = line.split(' ');
      await admin.call(name, ...words);
    }
  }

  /** With settings, which are put back. */
  async function withSettings<Value>(
    settings: Readonly<Record<string, string>>,
    body: () => Promise<Value>,
  ): Promise<Value> {
    const before: [string, string][] = [];
    for (const name of Object.keys(settings))
      before.push([name, ((await admin.config('GET', name)) as string[])[1] ?? '']);
    for (const [name, value] of Object.entries(settings)) await admin.config('SET', name, value);
    try {
      return await body();
    } finally {
      for (const [name, value] of before) await admin.config('SET', name, value);
    }
  }

  it('finds nothing on a good one, as a user who may do what it printed and no more', async () => {
    const { status, findings } = await doctor(url, '--strict');
    expect(findings.filter(({ severity }) => severity !== 'ok')).toEqual([]);
    expect(status).toBe(0);
    const { stdout } = await doctorText(url);
    expect(stdout).toContain('promise   Exclusive while the server keeps its data');
    expect(stdout).toContain('Nothing was changed.');
  });

  it('notes that anybody on this machine may do everything', async () => {
    const { status, of } = await doctor(server.url, '--strict');
    expect(of('note')).toEqual(['redis-rights-broad', 'redis-login']);
    expect(status).toBe(0);
  });

  it('finds a server that may evict leases', async () => {
    const policy = { maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' };
    const { status, find, of } = await withSettings(policy, () => doctor(url));
    expect(status).toBe(78);
    expect(of('critical')).toEqual(['redis-eviction']);
    expect(find('redis-eviction').remedy).toContain('CONFIG SET maxmemory-policy noeviction');
  });

  it('notes what a power cut would take', async () => {
    const everysec = await withSettings({ appendfsync: 'everysec' }, () => doctor(url));
    expect(everysec.of('note')).toEqual(['redis-persistence']);
  });

  it('finds a server whose memory is nearly full', async () => {
    const [, used] = /used_memory:(\d+)/.exec(await admin.info('memory')) ?? [];
    const full = { maxmemory: String(Math.floor(Number(used) * 1.08)) };
    const { of } = await withSettings(full, () => doctor(url));
    expect(of('warning')).toEqual(['redis-memory']);
  });

  it('finds a server that is full, and one that demands replicas that it has not', async () => {
    const full = await withSettings({ maxmemory: '1' }, () => doctor(url));
    expect(full.of('critical')).toEqual(['redis-refusal', 'redis-memory']);
    expect(full.find('redis-refusal')).toMatchObject({
      seen: expect.stringContaining('it refuses a write: OOM'),
      remedy: expect.stringContaining('maxmemory'),
    });
    expect(full.status).toBe(78);
    const lonely = await withSettings({ 'min-replicas-to-write': '3' }, () => doctor(url));
    expect(lonely.of('critical')).toEqual(['redis-refusal', 'redis-replicas']);
    expect(lonely.find('redis-refusal').seen).toContain('NOREPLICAS');
    expect(lonely.find('redis-replicas')).toMatchObject({
      seen: 'min-replicas-to-write 3, and 0 replicas no more than 10 s behind',
      remedy: expect.stringContaining('CONFIG SET min-replicas-to-write 0'),
    });
    expect(lonely.status).toBe(78);
  });

  it('finds that fewer replicas keep up than it demands, as soon as it refuses writes', async () => {
    const replica = await startRedis({ args: ['--replicaof', server.host, String(server.port)] });
    try {
      await admin.wait(1, 30_000);
      const two = await withSettings({ 'min-replicas-to-write': '2' }, () => doctor(url));
      expect(two.of('critical')).toEqual(['redis-refusal', 'redis-replicas']);
      const demands = { 'min-replicas-to-write': '1', 'min-replicas-max-lag': '1' };
      await withSettings(demands, async () => {
        await until('the replica keeping up', async () => {
          return /min_slaves_good_slaves:1/.test(await admin.info('replication'));
        });
        expect((await doctor(url)).of('critical')).toEqual([]);
        replica.freeze();
        await until('the replica falling behind', async () => {
          return /min_slaves_good_slaves:0/.test(await admin.info('replication'));
        });
        const behind = await doctor(url);
        expect(behind.of('critical')).toEqual(['redis-refusal', 'redis-replicas']);
        expect(behind.status).toBe(78);
      });
    } finally {
      await replica.kill();
      await replica.stop();
    }
    // Its master notices that it is gone by the connection.
    await until('the replica being gone', async () => {
      return /connected_slaves:0/.test(await admin.info('replication'));
    });
  });

  it('finds an asynchronous replica that may be promoted beside a master that goes on', async () => {
    const replica = await startRedis({ args: ['--replicaof', server.host, String(server.port)] });
    try {
      await admin.wait(1, 30_000);
      const { status, of } = await doctor(url);
      expect(of('critical')).toEqual(['redis-replicas']);
      expect(status).toBe(78);
      const guarded = { 'min-replicas-to-write': '1' };
      const safer = await withSettings(guarded, () => doctor(url, '--ttl', '30s'));
      expect(safer.find('redis-replicas').severity).toBe('ok');
      const short = await withSettings(guarded, () => doctor(url, '--ttl', '3s'));
      expect(short.find('redis-replicas').remedy).toContain('min-replicas-max-lag 1');
      // And that replica is no place for leases.
      const there = await doctor(replica.url);
      expect(there.of('critical')).toContain('redis-role');
    } finally {
      await replica.stop();
    }
  });

  it('names the rights that are missing, and works with what is left', async () => {
    await command('ACL SETUSER tenure -zadd -publish');
    const { status, find } = await doctor(url);
    await command('ACL SETUSER tenure +zadd +publish');
    expect(status).toBe(78);
    expect(find('redis-rights')).toMatchObject({
      severity: 'critical',
      seen: 'user tenure may not: publish, zadd',
      remedy: expect.stringContaining('ACL SETUSER tenure +publish +zadd'),
    });
  });

  it('tells rights on another namespace from those on this one', async () => {
    const { find } = await doctor(url, '--namespace', 'billing');
    expect(find('redis-rights').seen).toContain('get, mget, set');
  });

  it('says what it could not look at, and what to grant for it', async () => {
    await command('ACL SETUSER tenure -config|get -info');
    const { status, findings } = await doctor(url, '--strict');
    await command('ACL SETUSER tenure +config|get +info');
    const hidden = findings.filter(({ couldNotLook }) => couldNotLook);
    expect(hidden.map(({ id }) => id)).toContain('redis-eviction');
    expect(hidden[0]).toMatchObject({
      severity: 'warning',
      seen: 'could not look: the user may not send INFO',
      remedy: expect.stringContaining('+info'),
    });
    expect(status).toBe(1);
    await command('ACL SETUSER tenure -config|get');
    const { find } = await doctor(url);
    await command('ACL SETUSER tenure +config|get');
    expect(find('redis-persistence').remedy).toContain('+config|get');
  });

  it('is stricter where others are on the way', async () => {
    // The same server, by an address that is not this machine's alone.
    const far = await doctor(server.url.replace('127.0.0.1', '0.0.0.0'));
    expect(far.of('warning')).toEqual(['tls', 'redis-rights-broad', 'redis-login']);
    expect((await doctor(url.replace('127.0.0.1', '0.0.0.0'))).find('tls').seen).toBe(
      '0.0.0.0 is asked in plain text, the password as well',
    );
  });

  it('goes on without scripts', async () => {
    await command('ACL SETUSER tenure -eval -time');
    const { find } = await doctor(url);
    await command('ACL SETUSER tenure +eval +time');
    expect(find('redis-rights')).toMatchObject({ severity: 'critical' });
    expect(find('round-trip')).toBeDefined();
  });

  it('changes nothing there', async () => {
    await admin.set('somebody-else', '1');
    const state = async () => {
      const persistence = await admin.info('persistence');
      const writes = /rdb_changes_since_last_save:(\d+)/.exec(persistence)?.[1];
      const settings = await admin.config('GET', '*');
      return [writes, await admin.keys('*'), settings, await admin.call('ACL', 'LIST')];
    };
    const before = await state();
    await doctor(server.url);
    await doctor(url);
    expect(await state()).toEqual(before);
  });

  it('prints no password, and no line wider than a terminal', async () => {
    const bad = { maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' };
    const [text, json] = await withSettings(bad, async () => {
      await command('ACL SETUSER tenure -publish');
      return [await doctorText(url), (await doctor(url)).outcome];
    });
    await command('ACL SETUSER tenure +publish');
    expect(text.stdout).toContain('CRITICAL  redis-eviction');
    expect(text.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    for (const { stdout, stderr } of [text, json]) expect(stdout + stderr).not.toContain(password);
  });

  it('tells a server that lets nobody in from one that is not there', async () => {
    const stranger = await doctorText(server.url.replace('//', '//tenure:wrong@'));
    expect(stranger.status).toBe(78);
    expect(stranger.stderr).toContain('WRONGPASS');
    const nobody = await doctorText('redis://127.0.0.1:1');
    expect(nobody.status).toBe(69);
    expect(nobody.stderr).toContain('nothing listens there');
  });
});

describe('a Redis that forgets', () => {
  it('is found if it keeps nothing on disk, and warned of if it takes snapshots', async () => {
    const server = await startRedis();
    try {
      const nothing = await doctor(server.url);
      expect(nothing.of('critical')).toEqual(['redis-persistence']);
      expect(nothing.status).toBe(78);
      const admin = new Redis(server.url);
      await admin.config('SET', 'save', '3600 1');
      admin.disconnect();
      expect((await doctor(server.url)).status).toBe(0);
      const { status, of } = await doctor(server.url, '--strict');
      expect(of('warning')).toEqual(['redis-persistence']);
      expect(status).toBe(1);
    } finally {
      await server.stop();
    }
  });
});

describe('a Redis that does not know CONFIG, as many services', () => {
  it('says that it could not look, and where to', async () => {
    const server = await startRedis({
      appendonly: 'always',
      args: ['--rename-command', 'CONFIG', ''],
    });
    try {
      expect((await doctor(server.url)).find('redis-persistence')).toMatchObject({
        couldNotLook: true,
        seen: expect.stringContaining('does not answer CONFIG GET'),
      });
    } finally {
      await server.stop();
    }
  });
});

describe('a Redis whose clock is another one', () => {
  it('is found, and found to be worse where a jump of it ends leases', async () => {
    const server = await startRedis({ appendonly: 'always', clock: true });
    try {
      server.stepClock(-90_000);
      const short = await doctor(server.url, '--ttl', '30s');
      expect(short.of('critical')).toEqual(['clock-offset']);
      expect(short.find('clock-offset').seen).toContain('is 90 s behind');
      const long = await doctor(server.url, '--ttl', '10m');
      expect(long.of('warning')).toEqual(['clock-offset']);
    } finally {
      await server.stop();
    }
  });
});

it.each([
  [['memory:'], 'no other process sees'],
  [['mysql://localhost/x'], 'STORE names a store that keeps fences alone'],
  [['mongodb://localhost/x'], 'STORE names no store known here'],
  [['redis://h/x'], 'STORE names a database that is not a number'],
])('the doctor refuses %j', async (args, says) => {
  const { status, stderr } = await doctorText(...args);
  expect(status).toBe(64);
  expect(stderr.replace(/\s+/g, ' ')).toContain(says);
});
