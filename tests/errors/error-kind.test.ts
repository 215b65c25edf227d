import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { leaseServerCheck } from '../../src/coordinators/postgres/check.js';
import { noMajority } from '../../src/coordinators/redis-quorum/errors.js';
import { NoAnswerError } from '../../src/drivers/deadline.js';
import { failureError, NoAnswer } from '../../src/drivers/etcd/errors.js';
import { classifyMysqlError } from '../../src/drivers/mysql/errors.js';
import {
  classifyPostgresError,
  type PostgresClient,
  type PostgresSession,
  runTransaction,
} from '../../src/drivers/postgres/index.js';
import { assertUsable, parseFacts } from '../../src/drivers/redis/checks.js';
import { replyError } from '../../src/drivers/redis/errors.js';
import { greet } from '../../src/drivers/redis/greeting.js';
import type { Link } from '../../src/drivers/redis/link.js';
import { executedInPart } from '../../src/drivers/redis/script.js';
import { WaitingCall } from '../../src/drivers/sqlite/waiting-call.js';
import { errorKindOf, kindOfServers } from '../../src/errors/error-kind.js';
import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  TenureError,
  UnreachableError,
} from '../../src/errors/index.js';
import { type ErrorKind, ofKind } from '../../src/errors/kinds.js';
import { sanitizedCause } from '../../src/errors/redact.js';
import { etcdCoordinator } from '../../src/etcd.js';
import { fromWire, toWire } from '../../src/leases/thread/wire-error.js';
import { onceServerCheck } from '../../src/once/postgres/check.js';
import { postgresCoordinator } from '../../src/postgres.js';
import { redisCoordinator, redisQuorumCoordinator } from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';

const coded = (code: string, message = `it says ${code}`) =>
  Object.assign(new Error(message), { code });

describe('a failure is of the kind', () => {
  it.each([
    ['refused', new UnreachableError('no way', coded('ECONNREFUSED'))],
    ['reset', new UnreachableError('no way', coded('ECONNRESET'))],
    ['reset', new UnreachableError('no way', new Error('Connection is closed.'))],
    ['unreachable', new UnreachableError('no way', coded('EHOSTUNREACH'))],
    ['timeout', new UnreachableError('no way', new Error('Query read timeout'))],
    ['loading', new UnreachableError('no way', coded('57P03'))],
    ['loading', new StoreRefusedError('LOADING', 'it is loading')],
    ['loading', new StoreRefusedError('57P03', 'starting up')],
    ['replica', new StoreRefusedError('READONLY', 'a replica')],
    ['overloaded', new StoreRefusedError('BUSY', 'a script')],
    ['timeout', new StoreRefusedError('57014', 'it was cancelled')],
    ['other', new StoreRefusedError('constructor', 'whatever')],
    ['denied', new StoreMisconfiguredError('the password is wrong')],
    ['unreachable', new UnreachableError('whatever')],
    ['timeout', new OutcomeUnknownError('whatever')],
    ['other', new Error('whatever')],
    ['other', new Error('a bracket within the expression is not closed')],
    ['other', undefined],
  ] as const)('%s: %s', (kind, error) => {
    expect(errorKindOf(error)).toBe(kind);
  });

  it('that it carries, and no other for what its message says, which may hold names of users', () => {
    const words = 'no answer in time: "LOADING", nothing listens, ECONNREFUSED, is a replica';
    expect(errorKindOf(new UnreachableError(words))).toBe('unreachable');
    expect(errorKindOf(new OutcomeUnknownError(words))).toBe('timeout');
    expect(errorKindOf(new StoreMisconfiguredError(words))).toBe('denied');
    expect(errorKindOf(new StoreRefusedError('WHY', words))).toBe('other');
    expect(errorKindOf(ofKind('reset', new UnreachableError(words)))).toBe('reset');
  });

  it('of the deepest of its causes that tells one', () => {
    const deepest = new UnreachableError('a', coded('ECONNREFUSED'));
    expect(errorKindOf(new OutcomeUnknownError('b', deepest))).toBe('refused');
    expect(errorKindOf(new OutcomeUnknownError('b', ofKind('replica', new Error('a'))))).toBe(
      'replica',
    );
    const endless = new Error('a');
    endless.cause = endless;
    expect(errorKindOf(endless)).toBe('other');
  });

  it('which is not shown, and outlives what takes secrets out and what goes from thread to thread', () => {
    const error = ofKind('loading', new UnreachableError('a'));
    expect(Object.keys(error)).toEqual(Object.keys(new UnreachableError('a')));
    expect(errorKindOf(fromWire(structuredClone(toWire(error))))).toBe('loading');
    const plain = ofKind('loading', new Error('a'));
    expect(errorKindOf(sanitizedCause(plain))).toBe('loading');
    expect(errorKindOf(fromWire(structuredClone(toWire(new UnreachableError('b', plain)))))).toBe(
      'loading',
    );
  });
});

describe('of several servers that a request failed at', () => {
  it.each<[ErrorKind | undefined, (ErrorKind | undefined)[]]>([
    ['refused', ['refused', 'refused']],
    ['timeout', ['timeout', 'timeout', undefined]],
    ['replica', ['refused', 'timeout']],
    ['replica', ['reset', 'refused']],
    ['replica', ['timeout', 'replica']],
    [undefined, ['other', undefined]],
    [undefined, []],
  ])('it is %s: %j', (kind, kinds) => {
    expect(kindOfServers(kinds)).toBe(kind);
  });
});

/** Why something was not accepted. */
function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** With other words in every message of ours. */
function reworded(error: unknown): unknown {
  for (let one = error; one instanceof Error; one = one.cause)
    if (one instanceof TenureError || one instanceof NoAnswer || one instanceof NoAnswerError)
      Object.defineProperty(one, 'message', { value: 'other words' });
  return error;
}

const postgresChecks = [leaseServerCheck('tenure', 'tenure'), onceServerCheck('tenure', 'tenure')];
const asked = (code: string, phase: 'connect' | 'statement') =>
  classifyPostgresError(coded(code), phase, 'the claim');
const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
const replica = 'redis_version:7.0.0\r\nrole:slave\r\n';
const failed = (error: Error) => ({ kind: 'failed', error, executed: 'no' }) as const;
/** A call that comes to its deadline before its file is open. */
function lateInFile(): Promise<never> {
  const parts = { operation: 'acquire', mode: 'write', timeoutMs: 10, path: 'a.db' } as const;
  return new Promise((_, reject) => {
    new WaitingCall({ ...parts, runtime: realRuntime }, reject, () => {}).giveUp();
  });
}

/** It refuses what begins a transaction, and says of itself that it is a standby. */
const readOnlySession = {
  client: {
    query: async (text: string) => {
      if (text.startsWith('BEGIN')) throw coded('25006');
      return { rows: [{ standby: true }] };
    },
  },
  end() {},
} as unknown as PostgresSession<PostgresClient>;
const inTransaction = (session: PostgresSession<PostgresClient>) => {
  const ask = { runtime: realRuntime, timeoutMs: 1_000, what: 'a claim' };
  return runTransaction(session, { begin: 'BEGIN', ask }, async () => {});
};
/** To a server that says this of itself. */
const linkTo = (info: string) =>
  ({
    ...{ address: 'h:1', clock: { observe() {} }, end() {} },
    call: async (command: string) => (command === 'info' ? info : ['1', '1']),
  }) as unknown as Link;
const isReplica = () => thrownBy(() => assertUsable(parseFacts(replica), 'h:1')) as Error;

describe('whatever the words are in which it is said', () => {
  it.each<[string, ErrorKind, () => unknown]>([
    ['Redis that is a replica', 'replica', isReplica],
    [
      'Redis that others call the master, and is none',
      'replica',
      () => greet(linkTo(replica), 'sentinel', realRuntime, 0).catch((error) => error),
    ],
    [
      'a script of Redis that met a master which was one no more',
      'replica',
      () => replyError(reply(`${executedInPart} READONLY You can`), 'a script', 'h:1'),
    ],
    [
      'a quorum of replicas',
      'replica',
      () => noMajority('read', [failed(isReplica()), failed(isReplica())], ['a', 'b'], true),
    ],
    [
      'a quorum of which one refuses connections',
      'refused',
      () => {
        const gone = ofKind('refused', new UnreachableError('a'));
        const votes = [failed(gone), failed(gone), failed(isReplica())];
        return noMajority('read', votes, ['a', 'b', 'c'], true);
      },
    ],
    ...postgresChecks.flatMap(({ accept }): [string, ErrorKind, () => unknown][] => [
      ['PostgreSQL that is a standby', 'replica', () => thrownBy(() => accept({ standby: true }))],
      [
        'PostgreSQL that only reads',
        'replica',
        () => thrownBy(() => accept({ standby: false, read_only: 'on' })),
      ],
    ]),
    ['PostgreSQL that turns out to be read-only', 'replica', () => asked('25006', 'statement')],
    [
      'PostgreSQL that says why it is read-only',
      'replica',
      () => inTransaction(readOnlySession).catch((error) => error),
    ],
    [
      'PostgreSQL that does not answer',
      'timeout',
      () => classifyPostgresError(new NoAnswerError(10), 'read', 'a question'),
    ],
    [
      'MariaDB that does not answer',
      'timeout',
      () => classifyMysqlError(new NoAnswerError(10), 'read', 'a question'),
    ],
    ['a file of SQLite that is not come by', 'timeout', () => lateInFile().catch((error) => error)],
    ['PostgreSQL without our right', 'denied', () => asked('42501', 'statement')],
    ['PostgreSQL that is starting', 'loading', () => asked('57P03', 'connect')],
    ['PostgreSQL that is shut down meanwhile', 'reset', () => asked('57P01', 'statement')],
    [
      'a cluster of etcd whose leader changed meanwhile',
      'replica',
      () => failureError({ code: 14, message: 'etcdserver: leader changed' }, 'h:1', 'a claim'),
    ],
    [
      'a member of etcd without a leader',
      'replica',
      () => failureError({ code: 14, message: 'etcdserver: no leader' }, 'h:1', 'a claim'),
    ],
  ])('%s is of its kind: %s', async (_, kind, make) => {
    const error = await make();
    expect(error).toBeInstanceOf(Error);
    expect(errorKindOf(reworded(error))).toBe(kind);
  });
});

describe('whatever the words of a client are', () => {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const ports = { closed: 0, silent: 0, resetting: 0, replica: 0 };

  async function listening(answer: (socket: Socket) => void): Promise<number> {
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      answer(socket);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  /** As Redis answers, as far as it is asked. */
  function answering(answers: Readonly<Record<string, () => string>>): (socket: Socket) => void {
    return (socket) =>
      socket.on('data', (bytes) => {
        const commands = bytes.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g);
        for (const [, command = ''] of commands)
          socket.write(answers[command.toLowerCase()]?.() ?? '+OK\r\n');
      });
  }

  const list = (...words: readonly string[]) =>
    `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
  const asReplica = {
    info: () => `$${replica.length}\r\n${replica}\r\n`,
    time: () => list('1', '1'),
  };

  beforeAll(async () => {
    ports.silent = await listening(() => {});
    ports.resetting = await listening((socket) => socket.resetAndDestroy());
    ports.replica = await listening(answering(asReplica));
    ports.closed = await listening(() => {});
    const closing = servers.pop();
    await new Promise((resolve) => closing?.close(resolve));
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    for (const server of servers) await new Promise((resolve) => server.close(resolve));
  });

  async function kindsOf(coordinator: Coordinator, timeoutMs: number, count = 1) {
    const kinds: ErrorKind[] = [];
    try {
      for (let asked = 0; asked < count; asked += 1) {
        const error = await coordinator.read(['x'], { timeoutMs }).catch((why: unknown) => why);
        expect(error).toBeInstanceOf(TenureError);
        kinds.push(errorKindOf(reworded(error)));
      }
      return kinds;
    } finally {
      await coordinator.close();
    }
  }

  type At = (port: number) => Coordinator;
  const at = (port: number) => `127.0.0.1:${port}`;
  const clients: [string, At][] = [
    ['Redis', (port) => redisCoordinator(`redis://${at(port)}`)],
    ['Sentinel', (port) => redisCoordinator(`redis+sentinel://${at(port)}/m`)],
    ['Redis Cluster', (port) => redisCoordinator(`redis+cluster://${at(port)}`)],
    [
      'a quorum',
      (port) => {
        const others = ['localhost', '[::ffff:127.0.0.1]'].map((host) => `${host}:${port}`);
        return redisQuorumCoordinator(`redis+quorum://${[at(port), ...others].join(',')}`);
      },
    ],
    ['PostgreSQL', (port) => postgresCoordinator(`postgres://${at(port)}/x`)],
    ['etcd', (port) => etcdCoordinator(`etcd://${at(port)}`)],
    ['ZooKeeper', (port) => zookeeperCoordinator(`zookeeper://${at(port)}`)],
  ];

  describe.concurrent.each(clients)('%s', (_, open) => {
    it.each([
      ['nothing listens', 'refused', 'closed'],
      ['there is no answer', 'timeout', 'silent'],
      ['connections are reset', 'reset', 'resetting'],
    ] as const)('where %s is of the kind %s', async (_, kind, port) => {
      expect(await kindsOf(open(ports[port]), 1_500)).toEqual([kind]);
    });
  });

  it.each<[string, (hosts: string) => Coordinator]>([
    ['etcd', (hosts) => etcdCoordinator(`etcd://${hosts}`)],
    ['ZooKeeper', (hosts) => zookeeperCoordinator(`zookeeper://${hosts}`)],
  ])(
    '%s of which one server is gone and the other breaks off has none that decides',
    async (_, open) => {
      const hosts = `${at(ports.closed)},${at(ports.resetting)}`;
      expect(await kindsOf(open(hosts), 1_500)).toEqual(['replica']);
    },
  );

  it('sentinels that have forgotten the master they named have none', async () => {
    let askedCount = 0;
    const sentinel = () => (askedCount++ === 0 ? list('127.0.0.1', `${ports.closed}`) : '*-1\r\n');
    const port = await listening(answering({ sentinel }));
    const coordinator = redisCoordinator(`redis+sentinel://${at(port)}/m`);
    expect(await kindsOf(coordinator, 1_000)).toEqual(['replica']);
  });

  it('Redis that is a replica is one for whoever asks next, too', async () => {
    const coordinator = redisCoordinator(`redis://${at(ports.replica)}`);
    expect(await kindsOf(coordinator, 2_000, 3)).toEqual(['replica', 'replica', 'replica']);
  });
});

describe('in the rooms of drivers', () => {
  it('whatever was not done, or may have been, is made with its kind', () => {
    const files = readdirSync('src/drivers', { recursive: true, encoding: 'utf8' });
    const without = files
      .filter((file) => file.endsWith('.ts'))
      .filter((file) =>
        /new (?:Unreachable|OutcomeUnknown)Error\(/.test(
          readFileSync(`src/drivers/${file}`, 'utf8'),
        ),
      );
    // Use unreachable() and outcomeUnknown() of src/errors/unanswered.ts.
    expect(without).toEqual([]);
  });
});
