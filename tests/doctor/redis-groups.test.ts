import { Redis } from 'ioredis';
import { describe, expect, it, vi } from 'vitest';
import {
  type RedisServer,
  startRedis,
  startRedisCluster,
  startRedisQuorum,
  startRedisSentinels,
} from '../support/servers/index.js';
import { freePort } from '../support/servers/process.js';
import { until } from '../support/until.js';
import { type Diagnosis, doctor, doctorText } from './doctor.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** What these servers are made for: their users may do everything, and have no password. */
const ofTests = ['redis-rights-broad', 'redis-login'];
const durable = { appendonly: 'always' } as const;

function faults({ findings }: Diagnosis): string[] {
  const those = findings.filter(({ id, severity }) => severity !== 'ok' && !ofTests.includes(id));
  return [...new Set(those.map(({ id, severity }) => `${id} ${severity}`))].sort();
}

describe('the doctor on a Redis with sentinels', () => {
  it('finds a master that goes on alone, sentinels that are gone, and a quorum that is never had', async () => {
    const guarded = { ...durable, args: ['--min-replicas-to-write', '1'] };
    const servers = await startRedisSentinels({ server: guarded, downAfterMs: 60_000 });
    try {
      await servers.settled();
      const master = await servers.master();
      const admin = new Redis(master.url);
      expect(faults(await doctor(servers.url))).toEqual(['redis-replicas note']);
      // The port of a sentinel in place of the server's.
      const misled = await doctor(`redis://127.0.0.1:${servers.sentinels[0]?.port}`);
      expect(misled.of('critical')).toContain('redis-role');
      expect(misled.find('redis-role').seen).toBe('it is a sentinel');
      await admin.config('SET', 'min-replicas-to-write', '0');
      const alone = await doctor(servers.url);
      expect(faults(alone)).toEqual(['redis-replicas critical']);
      expect(alone.status).toBe(78);
      await admin.config('SET', 'min-replicas-to-write', '1');
      admin.disconnect();

      const sentinel = new Redis({ host: '127.0.0.1', port: servers.sentinels[0]?.port ?? 0 });
      await sentinel.call('SENTINEL', 'SET', servers.masterName, 'quorum', '4');
      expect((await doctor(servers.url)).find('redis-sentinel-quorum')).toMatchObject({
        severity: 'critical',
        seen: 'the quorum is 4, of 3 sentinels',
      });
      await sentinel.call('SENTINEL', 'SET', servers.masterName, 'quorum', '2');

      // As one does that was configured for another master of that name.
      const other = await startRedis(durable);
      const watch = async (port: number | string) => {
        await sentinel.call('SENTINEL', 'REMOVE', servers.masterName);
        await sentinel.call('SENTINEL', 'MONITOR', servers.masterName, '127.0.0.1', port, 2);
      };
      await watch(other.port);
      const apart = await doctor(servers.url);
      expect(apart.of('critical')).toContain('redis-sentinel-agreement');
      expect(apart.status).toBe(78);
      await watch(master.port);
      // It hears of the other two by what they say at the master, every other second.
      await until('the sentinel knows the other two again', async () => {
        const others = await sentinel.call('SENTINEL', 'SENTINELS', servers.masterName);
        return Array.isArray(others) && others.length === 2;
      });
      await other.stop();
      sentinel.disconnect();

      const [, second, third] = servers.sentinels;
      await second?.stop();
      expect(faults(await doctor(servers.url))).toContain('redis-sentinels warning');
      await third?.stop();
      const few = await doctor(servers.url);
      expect(few.of('critical')).toEqual(['redis-sentinels']);
      expect(few.find('redis-sentinels').seen).toContain('1 of 3');
      const unknown = await doctorText(servers.url.replace(servers.masterName, 'other'));
      expect(unknown.status).toBe(78);
      expect(unknown.stderr).toContain('knows a master "other"');
    } finally {
      await servers.stop();
    }
  });
});

describe('the doctor on a Redis Cluster', () => {
  it('finds slots without a master, and a node that is gone', async () => {
    const cluster = await startRedisCluster({ replicaCount: 0, server: durable });
    try {
      await cluster.settled();
      const whole = await doctor(cluster.url);
      expect(faults(whole)).toEqual(['redis-replicas warning']);
      expect(whole.find('redis-cluster-state').severity).toBe('ok');
      const node = await doctor(cluster.servers[0]?.url ?? '');
      expect(node.of('warning')).toContain('redis-role');
      const key = '{tenure:default}:term';
      const owner = await cluster.ownerOf(key);
      const [lost] = cluster.servers.filter((server) => server !== owner);
      await lost?.kill();
      // Whichever of them is asked has to know it.
      for (const { url } of cluster.servers.filter((server) => server !== lost)) {
        const witness = new Redis(url);
        while (!String(await witness.call('CLUSTER', 'INFO')).includes('cluster_state:fail'));
        witness.disconnect();
      }
      const broken = await doctor(cluster.url);
      expect(broken.of('critical')).toEqual(['redis-cluster-state', 'redis-refusal']);
      expect(broken.of('warning')).toContain('redis-cluster-nodes');
    } finally {
      await cluster.stop();
    }
  });
});

describe('the doctor on a URL of a cluster that is none', () => {
  it('finds a server that is alone, also beside a node of a cluster, and nodes of two clusters', async () => {
    const alone = await startRedis(durable);
    const single = await startSingleNode();
    const other = await startSingleNode();
    try {
      const lone = await doctor(`redis+cluster://127.0.0.1:${alone.port}`);
      expect(lone.of('critical')).toEqual(['redis-cluster-mode']);
      expect(lone.find('redis-cluster-mode').remedy).toContain('use redis://HOST:PORT');
      expect(lone.findings.map(({ id }) => id)).not.toContain('redis-cluster-slot');
      expect(lone.status).toBe(78);
      const good = await doctor(`redis+cluster://127.0.0.1:${single.port}`);
      expect(good.of('critical')).toEqual([]);
      for (const [one, two, id] of [
        [alone, single, 'redis-cluster-mode'],
        [single, alone, 'redis-cluster-mode'],
        [single, other, 'redis-cluster-agreement'],
        [other, single, 'redis-cluster-agreement'],
      ] as const) {
        const url = `redis+cluster://127.0.0.1:${one.port},127.0.0.1:${two.port}`;
        const { of, status } = await doctor(url);
        expect(of('critical')).toEqual([id]);
        expect(status).toBe(78);
      }
    } finally {
      await Promise.all([alone, single, other].map((server) => server.stop()));
    }
  });

  /** One node that has all slots. */
  async function startSingleNode(): Promise<RedisServer> {
    const port = String(await freePort());
    const server = await startRedis({
      ...durable,
      args: ['--cluster-enabled', 'yes', '--cluster-port', port],
    });
    const admin = new Redis(server.url);
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await until('the cluster being whole', async () => {
      return String(await admin.call('CLUSTER', 'INFO')).includes('cluster_state:ok');
    });
    admin.disconnect();
    return server;
  }
});

describe('the doctor on a quorum of Redis servers', () => {
  it('looks at each, and at all beside each other', async () => {
    const servers = await startRedisQuorum(3);
    const odd = await startRedis({ ...durable, clock: true });
    try {
      const [one, two, three] = servers.nodes;
      expect(faults(await doctor(servers.url))).toEqual([]);
      const { stdout } = await doctorText(servers.url);
      expect(stdout).toContain('redis-eviction on 3 servers: maxmemory-policy noeviction');
      expect(stdout.split('\n').filter((line) => line.length > 80 && !line.includes('//'))).toEqual(
        [],
      );

      odd.stepClock(5_000);
      const stepped = await doctor(servers.url.replace(`${three?.port}`, `${odd.port}`));
      expect(faults(stepped)).toEqual(['clock-offset warning', 'redis-quorum-clocks warning']);
      expect(stepped.find('clock-offset', `redis://127.0.0.1:${odd.port}/0`).severity).toBe(
        'warning',
      );

      const twice = servers.url.replace(`127.0.0.1:${three?.port}`, `localhost:${one?.port}`);
      expect(faults(await doctor(twice))).toContain('redis-quorum-distinct critical');

      const admin = new Redis(two?.url ?? '');
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await admin.config('SET', 'maxmemory', '100mb');
      await admin.config('SET', 'appendfsync', 'everysec');
      admin.disconnect();
      const weak = await doctor(servers.url);
      expect(faults(weak)).toEqual(['redis-eviction critical', 'redis-persistence warning']);
      expect(weak.find('redis-eviction', `redis://127.0.0.1:${two?.port}/0`).severity).toBe(
        'critical',
      );

      const refusing = new Redis(three?.url ?? '');
      await refusing.config('SET', 'min-replicas-to-write', '1');
      const unwilling = await doctor(servers.url);
      expect(faults(unwilling)).toContain('redis-quorum-nodes warning');
      expect(unwilling.find('redis-quorum-nodes').seen).toContain('2 of 3 answer, and take writes');
      await refusing.config('SET', 'min-replicas-to-write', '0');
      refusing.disconnect();

      await two?.kill();
      expect(faults(await doctor(servers.url))).toEqual(['redis-quorum-nodes warning']);
      await three?.kill();
      const few = await doctor(servers.url);
      expect(faults(few)).toEqual(['redis-quorum-nodes critical']);
      expect(few.status).toBe(78);
      await one?.kill();
      expect((await doctorText(servers.url)).status).toBe(69);
    } finally {
      await odd.stop();
      await servers.stop();
    }
  });
});
