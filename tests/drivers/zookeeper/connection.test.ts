import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  type ConnectionOptions,
  ZooKeeperConnection,
} from '../../../src/drivers/zookeeper/connection.js';
import { ConnectionLostError, SessionExpiredError } from '../../../src/drivers/zookeeper/errors.js';
import { realRuntime } from '../../../src/time/index.js';
import { FaultProxy } from '../../support/proxy.js';
import { startZooKeeper, type ZooKeeperServer } from '../../support/servers/index.js';

const sessionTimeoutMs = 600;
const data = Buffer.from('x');

let server: ZooKeeperServer;
let proxy: FaultProxy;
const open: ZooKeeperConnection[] = [];
let count = 0;

beforeAll(async () => {
  server = await startZooKeeper();
  proxy = await FaultProxy.start(server.port);
});
afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
});
afterEach(() => {
  for (const connection of open.splice(0)) connection.endSession();
  proxy.heal();
});

async function connect(options: Partial<ConnectionOptions> = {}): Promise<ZooKeeperConnection> {
  const connection = await ZooKeeperConnection.open({
    runtime: realRuntime,
    server: { host: '127.0.0.1', port: proxy.port },
    sessionTimeoutMs,
    connectTimeoutMs: 2_000,
    ...options,
  });
  open.push(connection);
  return connection;
}

const newPath = () => `/node-${count++}`;
const closed = (connection: ZooKeeperConnection) =>
  new Promise<string>((resolve) => connection.onClosed(resolve));

it('a session has the time-out that the server grants, not the one that was asked for', async () => {
  expect((await connect({ sessionTimeoutMs: 1 })).sessionTimeoutMs).toBe(300);
  expect((await connect({ sessionTimeoutMs: 1e9 })).sessionTimeoutMs).toBe(60_000);
});

it('a transaction does all of its operations or none, and says which one failed', async () => {
  const connection = await connect();
  const path = newPath();
  await connection.create({ path, data });
  const results = await connection.multi([
    { kind: 'check', path, version: 0 },
    { kind: 'create', path: `${path}/child`, data },
    { kind: 'set', path, data, version: 0 },
    { kind: 'delete', path: `${path}/child` },
  ]);
  expect(results[1]?.path).toBe(`${path}/child`);
  expect(results[2]?.stat).toMatchObject({ version: 1, childCount: 1 });
  const failing = connection.multi([
    { kind: 'create', path: `${path}/other`, data },
    { kind: 'set', path, data, version: 0 },
    { kind: 'check', path: `${path}/none` },
  ]);
  await expect(failing).rejects.toMatchObject({ message: 'BAD_VERSION', failedIndex: 1 });
  expect(await connection.getChildren(path)).toEqual([]);
});

it('a version of 0 is a condition like any other', async () => {
  const connection = await connect();
  const path = newPath();
  await connection.create({ path, data });
  await connection.setData(path, data);
  await expect(connection.multi([{ kind: 'set', path, data, version: 0 }])).rejects.toThrow(
    'BAD_VERSION',
  );
});

it('a watch of the children of an ephemeral node tells its end, and no write to it', async () => {
  const connection = await connect();
  const path = newPath();
  await connection.create({ path, data, ephemeral: true });
  let isEnded = false;
  await connection.getChildren(path, () => {
    isEnded = true;
  });
  const written = new Promise((resolve) => connection.getData(path, resolve));
  await connection.setData(path, data);
  await written;
  expect(isEnded).toBe(false);
  await connection.delete(path);
  await connection.sync('/');
  expect(isEnded).toBe(true);
});

it('lives on while nothing is asked of it', async () => {
  const connection = await connect();
  await new Promise((resolve) => setTimeout(resolve, sessionTimeoutMs * 2));
  expect(connection.isOpen).toBe(true);
  await connection.sync('/');
});

it('answers come whole, however they are cut', async () => {
  const connection = await connect();
  const path = newPath();
  const large = Buffer.alloc(300_000, 'y');
  await connection.create({ path, data: large });
  const answers = await Promise.all([1, 2, 3].map(() => connection.getData(path)));
  expect(answers.every((answer) => answer.data.equals(large))).toBe(true);
});

it('a server that stops answering ends the connection before it could end the session', async () => {
  const connection = await connect();
  const ended = closed(connection);
  const startedMs = performance.now();
  proxy.up.swallow();
  const asked = connection.getData('/');
  await expect(asked).rejects.toThrow(ConnectionLostError);
  expect(await ended).toContain('no answer for');
  expect(performance.now() - startedMs).toBeLessThan(sessionTimeoutMs);
});

it('a session goes on over another connection, and the one before is no more', async () => {
  const first = await connect({ sessionTimeoutMs: 10_000 });
  const path = newPath();
  await first.create({ path, data, ephemeral: true });
  const ended = closed(first);
  const second = await connect({ ticket: first.ticket, sessionTimeoutMs: 10_000 });
  await ended;
  const { stat } = await second.getData(path);
  expect(stat.ephemeralOwner).toBe(first.ticket.id);
});

it('a session that is over is told from a server that cannot be reached', async () => {
  const first = await connect();
  const path = newPath();
  await first.create({ path, data, ephemeral: true });
  const onlooker = await connect();
  const ended = new Promise((resolve) => onlooker.getData(path, resolve));
  // The watch is in place before the session ends.
  await onlooker.sync('/');
  first.endSession();
  await ended;
  await expect(connect({ ticket: first.ticket })).rejects.toThrow(SessionExpiredError);
  proxy.refuse(true);
  await expect(connect()).rejects.toThrow(ConnectionLostError);
});

it('a server that accepts and says nothing is given up in time', async () => {
  proxy.down.swallow();
  const startedMs = performance.now();
  await expect(connect({ connectTimeoutMs: 200 })).rejects.toThrow('no answer within 200 ms');
  expect(performance.now() - startedMs).toBeLessThan(3_000);
});

it('a port that speaks TLS is told as what it may be', async () => {
  const secure = createServer({}).listen(0, '127.0.0.1');
  await once(secure, 'listening');
  const { port } = secure.address() as AddressInfo;
  try {
    const connecting = connect({ server: { host: '127.0.0.1', port } });
    await expect(connecting).rejects.toThrow(ConnectionLostError);
    await expect(connecting).rejects.toThrow('TLS');
  } finally {
    secure.close();
  }
});

it('what is no answer of ZooKeeper ends the connection', async () => {
  const connection = await connect();
  proxy.down.set({ kind: 'cut', afterBytes: 3 });
  await expect(connection.getData('/')).rejects.toThrow(ConnectionLostError);
});
