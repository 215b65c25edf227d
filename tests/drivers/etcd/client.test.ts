import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EtcdClient, etcdLocation } from '../../../src/drivers/etcd/index.js';
import {
  ClosedError,
  OutcomeUnknownError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { realRuntime } from '../../../src/time/index.js';
import { FaultProxy } from '../../support/proxy.js';
import { type EtcdCluster, startEtcd } from '../../support/servers/index.js';
import { Gate, Gateway } from './gateway.js';

let cluster: EtcdCluster;

beforeAll(async () => {
  cluster = await startEtcd();
});
afterAll(() => cluster.stop());

function connect(url: string): EtcdClient {
  const location = etcdLocation(url, undefined);
  return new EtcdClient({ what: 'the client', location, runtime: realRuntime });
}

const put = { kind: 'put', key: 'key', value: 'value', lease: '0' } as const;
const get = { kind: 'get', range: { key: 'key' } } as const;

describe('a client of etcd', () => {
  it('takes a keep-alive that is answered without a ttl for a lease that is gone', async () => {
    const client = connect(cluster.url);
    const deadline = client.deadline(3_000);
    expect(await client.keepAlive('4711', 'a test', deadline)).toBeUndefined();
    expect(await client.timeToLive('4711', 'a test', deadline)).toBeUndefined();
    expect(await client.grantLease('4711', 7, 'a test', deadline)).toBe(7);
    expect(await client.grantLease('4711', 7, 'a test', deadline), 'once more').toBe(7);
    expect(await client.keepAlive('4711', 'a test', deadline)).toBe(7);
    expect(await client.timeToLive('4711', 'a test', deadline)).toMatchObject({ granted: 7 });
    client.close();
  });

  it('tells the ttl that was granted, not the one that was asked for', async () => {
    const slow = await startEtcd({ args: ['--election-timeout', '2000'] });
    try {
      const client = connect(slow.url);
      expect(await client.grantLease('1', 1, 'a test', client.deadline(5_000))).toBe(3);
      client.close();
    } finally {
      await slow.stop();
    }
  });

  it('asks the next member after one that refuses connections, for a write too: it was not sent', async () => {
    const client = connect(`etcd://127.0.0.1:1,${cluster.url.replace('etcd://', '')}`);
    const reply = await client.txn([], [put], 'a test', client.deadline(3_000));
    expect(reply.succeeded).toBe(true);
    client.close();
  });

  it('makes a write that may have been executed at no other member, and a read at each', async () => {
    const proxy = await FaultProxy.start(cluster.members[0]?.port ?? 0);
    const client = connect(`etcd://127.0.0.1:${proxy.port},${cluster.url.replace('etcd://', '')}`);
    await client.read([get], 'a test', client.deadline(3_000));
    proxy.down.swallow();
    await expect(client.txn([], [put], 'a test', client.deadline(600))).rejects.toThrow(
      OutcomeUnknownError,
    );
    // The one that hung is asked last from then on; only a client that knows no other waits for it.
    const startedMs = performance.now();
    await client.read([get], 'a test', client.deadline(10_000));
    expect(performance.now() - startedMs).toBeLessThan(3_000);
    client.close();
    await proxy.stop();
  });

  it('says of what was never sent that it was not', async () => {
    const client = connect('etcd://127.0.0.1:1');
    await expect(client.txn([], [put], 'a test', client.deadline(500))).rejects.toThrow(
      UnreachableError,
    );
    client.close();
    await expect(client.read([get], 'a test', client.deadline(500))).rejects.toThrow(ClosedError);
  });

  it('tells what is no etcd from one that cannot be reached', async () => {
    const server = createServer((_, response) => response.writeHead(404).end('not here'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect(`etcd://127.0.0.1:${port}`);
    await expect(client.read([get], 'a test', client.deadline(2_000))).rejects.toThrow(
      StoreMisconfiguredError,
    );
    client.close();
    server.close();
  });

  it('takes what is no answer of etcd for no answer: a balancer may have passed the write on', async () => {
    const gateway = await Gateway.start(cluster.members[0]?.port ?? 0);
    const client = connect(gateway.url);
    for (const [status, text] of [
      [502, '<h1>Bad Gateway</h1>'],
      [504, '{"error":"upstream request timeout"}'],
      [200, '{"message":"maintenance"}'],
      [200, ''],
    ] as const) {
      gateway.insteadOf = () => undefined;
      await client.read([get], 'a test', client.deadline(3_000));
      gateway.insteadOf = () => ({ status, text });
      const value = `${status}${text}`;
      const written = client.txn([], [{ ...put, value }], 'a test', client.deadline(3_000));
      await expect(written, value).rejects.toThrow(OutcomeUnknownError);
      gateway.insteadOf = () => undefined;
      const { found } = await client.read([get], 'a test', client.deadline(3_000));
      expect(found[0]?.[0]?.value).toBe(value);
    }
    client.close();
    gateway.stop();
  });

  it('says of a balancer that cannot pass anything on that the write was not sent', async () => {
    const gateway = await Gateway.start(cluster.members[0]?.port ?? 0);
    gateway.insteadOf = () => ({ status: 503, text: 'no healthy upstream' });
    const client = connect(gateway.url);
    await expect(client.txn([], [put], 'a test', client.deadline(2_000))).rejects.toThrow(
      UnreachableError,
    );
    client.close();
    gateway.stop();
  });

  it('leaves unknown what was under way when it is closed, be there other members', async () => {
    const gateway = await Gateway.start(cluster.members[0]?.port ?? 0);
    const client = connect(`${gateway.url},${cluster.url.replace('etcd://', '')}`);
    await client.read([get], 'a test', client.deadline(3_000));
    const [reached, go] = [new Gate(), new Gate()];
    gateway.beforeAnswer = () => {
      reached.open();
      return go.opened;
    };
    const deadline = client.deadline(5_000);
    const written = client.txn([], [put], 'a test', deadline, true).catch((error) => error);
    await reached.opened;
    client.close();
    expect(await written).toBeInstanceOf(OutcomeUnknownError);
    go.open();
    gateway.stop();
  });
});

describe('the login of a client of etcd', () => {
  let users: EtcdCluster;

  beforeAll(async () => {
    users = await startEtcd();
    await users.etcdctl('user', 'add', 'root:secret');
    await users.etcdctl('user', 'grant-role', 'root', 'root');
    await users.etcdctl('auth', 'enable');
  });
  afterAll(() => users.stop());

  it('keeps the time of each call, whichever of them began it', async () => {
    const gateway = await Gateway.start(users.members[0]?.port ?? 0);
    const client = connect(gateway.url.replace('etcd://', 'etcd://root:secret@'));
    const go = new Gate();
    const isLogin = (path: string) => path === '/v3/auth/authenticate';
    gateway.beforeAnswer = ({ path }) => (isLogin(path) ? go.opened : undefined);
    const read = (timeoutMs: number) => client.read([get], 'a test', client.deadline(timeoutMs));
    const long = read(20_000);
    const startedMs = performance.now();
    await expect(read(300), 'one that joined the login of another').rejects.toThrow();
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    const short = read(300);
    const patient = read(5_000);
    await expect(short).rejects.toThrow();
    go.open();
    await Promise.all([long, patient]);
    client.close();
    gateway.stop();
  });
});
