import { createServer as createHttp } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { connectFailure, type Spoken } from '../../src/drivers/connect-failure.js';
import { UnreachableError } from '../../src/errors/index.js';
import { etcdCoordinator } from '../../src/etcd.js';
import { postgresCoordinator } from '../../src/postgres.js';
import { redisCoordinator, redisQuorumCoordinator } from '../../src/redis.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';

const plain: Spoken = { protocol: 'Redis', isTls: false, otherwise: 'rediss://' };
const tls: Spoken = { protocol: 'Redis', isTls: true, otherwise: 'redis://' };

function failed(code: string, message = ''): Error {
  return Object.assign(new Error(message), { code });
}

describe('why a connection could not be made', () => {
  it.each([
    [failed('ECONNREFUSED'), plain, /^nothing listens there \(ECONNREFUSED\)\. Start/],
    [new AggregateError([failed('ECONNREFUSED')], ''), plain, /^nothing listens there/],
    [failed('ENOTFOUND'), plain, /^there is no host of that name \(ENOTFOUND\)\. Correct the host/],
    [failed('ECONNRESET'), plain, /closed before Redis was spoken.*speaks TLS: then use rediss:/],
    ['the server closed the connection', tls, /speaks no TLS: then use redis:/],
    ['no answer within 20 ms', tls, /^there was no answer within 20 ms.*speaks no TLS/],
    [failed('EPROTO', 'wrong version number'), tls, /does not speak TLS\. Use redis:\/\//],
    [failed('DEPTH_ZERO_SELF_SIGNED_CERT'), tls, /not trusted.*NODE_EXTRA_CA_CERTS/],
    [failed('CERT_HAS_EXPIRED'), tls, /expired.*Renew/],
    [failed('ERR_TLS_CERT_ALTNAME_INVALID'), tls, /for another host/],
    [
      new Error('Unknown RESP type 72 "H". Please report this.'),
      plain,
      /answers there is no Redis/,
    ],
    [
      failed('ECONNRESET'),
      { protocol: 'ZooKeeper', isTls: false },
      /TLS, which is not spoken here/,
    ],
    [new Error('something new.'), plain, /^something new\. Check that the server runs/],
  ] as const)('is told with what to do: %s', (why, spoken, words) => {
    expect(connectFailure(why, spoken)).toMatch(words);
  });
});

describe('what is not the server that its URL says', () => {
  let server: Server;
  let port = 0;
  let closedPort = 0;

  beforeAll(async () => {
    server = createHttp((_, response) => response.end('hello'));
    const other = createServer();
    for (const one of [server, other])
      await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
    closedPort = (other.address() as AddressInfo).port;
    await new Promise((resolve) => other.close(resolve));
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  async function failureOf(coordinator: Coordinator): Promise<Error> {
    try {
      const failure = await coordinator.read(['x'], { timeoutMs: 2_500 }).then(
        () => undefined,
        (error: Error) => error,
      );
      expect(failure).toBeInstanceOf(UnreachableError);
      return failure as Error;
    } finally {
      await coordinator.close();
    }
  }

  const kinds = [
    ['Redis', (at: number) => redisCoordinator(`redis://127.0.0.1:${at}`)],
    ['PostgreSQL', (at: number) => postgresCoordinator(`postgres://127.0.0.1:${at}/x`)],
    ['ZooKeeper', (at: number) => zookeeperCoordinator(`zookeeper://127.0.0.1:${at}`)],
    [
      'Redis',
      (at: number) =>
        redisQuorumCoordinator(`redis+quorum://127.0.0.1:${at},127.0.0.1:1,127.0.0.1:2`),
    ],
  ] as const;

  it.concurrent.each(kinds.slice(0, 3))(
    'is named as a possible cause by a client of %s',
    async (name, open) => {
      const { message } = await failureOf(open(port));
      expect(message).toMatch(new RegExp(`(is no|before) ${name}`));
    },
  );

  it.concurrent.each(kinds)('is told from nothing at all by a client of %s', async (_, open) => {
    const { message } = await failureOf(open(closedPort));
    expect(message).toContain('nothing listens there (ECONNREFUSED)');
  });

  it('is told from nothing at all by a client of etcd', async () => {
    const { message } = await failureOf(etcdCoordinator(`etcd://127.0.0.1:${closedPort}`));
    expect(message).toContain('nothing listens there (ECONNREFUSED)');
    const tls = await failureOf(etcdCoordinator(`etcds://127.0.0.1:${port}`));
    expect(tls.message).toContain('does not speak TLS. Use etcd://');
  });
});
