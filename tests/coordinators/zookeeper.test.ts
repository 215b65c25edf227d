import { once } from 'node:events';
import zookeeper from 'node-zookeeper-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decodeState } from '../../src/coordinators/zookeeper/state.js';
import { type Call, StoreMisconfiguredError } from '../../src/index.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import { FaultProxy } from '../support/proxy.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { call, isFree, limits, newNamespace, Process, ticketIn } from './zookeeper-fixture.js';
import { asOperator, hasMulti } from './zookeeper-target.js';

const ttlMs = 700;
const longTtlMs = 20_000;
const name = 'jobs/nightly';

let server: ZooKeeperServer;
const open: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await startZooKeeper({ clock: true, smallestSessionMs: limits.smallestTtlMs });
});
afterAll(() => server?.stop());
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

const { namespace, paths } = newNamespace();
let names = 0;
const newName = () => `${name}-${names++}`;

async function start(id: string, options: object = {}): Promise<Process> {
  const one = await Process.start(server, id, { namespace, ...options });
  open.push(one);
  return one;
}

const pause = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs));

describe('the session of a lease', () => {
  it('is ended from outside: the holder is told, has lost, and is granted the name anew in another session', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    const term = await ann.take(job, longTtlMs);
    let lostCount = 0;
    const expired: number[] = [];
    ann.client.onConnectionLost(() => {
      lostCount += 1;
    });
    ann.client.on('expired', (event) => expired.push(event.ttlMs));
    await endFromOutside(ann, longTtlMs);
    await until('the holder hears of it', () => lostCount > 0 && expired.length > 0);
    expect(expired).toEqual([longTtlMs]);
    expect(await ann.renew(job, term, longTtlMs)).toEqual({
      outcome: 'not-yours',
      reason: 'vanished',
    });
    const next = await bob.take(job, ttlMs);
    expect(next).toBeGreaterThan(term);
    await bob.release(job, next);
    expect(await ann.take(job, longTtlMs)).toBeGreaterThan(next);
  });

  it('goes on over another connection: a disconnect makes leases uncertain, and ends none', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const term = await ann.take(job, longTtlMs);
    let lostCount = 0;
    ann.client.onConnectionLost(() => {
      lostCount += 1;
    });
    ann.proxy.reset();
    await until('word of the lost connection', () => lostCount > 0);
    expect(await ann.renew(job, term, longTtlMs)).toEqual({ outcome: 'renewed' });
  });

  it('is what a renewal proves: none is answered while nothing reaches the ensemble on its own connection', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const own = new Set<unknown>();
    ann.proxy.down.set({
      kind: 'judge',
      fateOf: (bytes, _, client) => {
        if (ticketIn(bytes)?.timeoutMs === longTtlMs) own.add(client);
        return 'none';
      },
    });
    const term = await ann.take(job, longTtlMs);
    let lostCount = 0;
    ann.client.onConnectionLost(() => {
      lostCount += 1;
    });
    ann.proxy.up.set({
      kind: 'judge',
      fateOf: (bytes, client) => (own.has(client) || goesOn(bytes) ? 'swallow' : 'none'),
    });
    const request = { name: job, holder: ann.holder, term, ttlMs: longTtlMs };
    const renewals = [1, 2, 3].map(() => ann.client.renew([request], { timeoutMs: 300 }));
    for (const renewal of renewals) await expect(renewal).rejects.toThrow('may have been executed');
    expect(lostCount).toBeGreaterThan(0);
    expect((await ann.client.read([job], call))[0]?.state).toBe('held');
    ann.proxy.heal();
    await until('a renewal', async () => {
      const renewed = await ann.renew(job, term, longTtlMs).catch(() => undefined);
      return renewed?.outcome === 'renewed';
    });
  });

  it('is the one that the node of the lease goes with', async () => {
    const [job, ann] = [newName(), await start('ann')];
    await ann.take(job, longTtlMs);
    const ticket = ann.tickets.find(({ timeoutMs }) => timeoutMs === longTtlMs);
    const owner = await asOperator(server, async (connection) => {
      const { data, stat } = await connection.getData(paths.name(job));
      const attempt = decodeState(data, stat)?.lease?.attempt ?? '';
      return (await connection.getData(paths.lease(job, attempt))).stat.ephemeralOwner;
    });
    expect(owner).toBe(ticket?.id.readBigInt64BE());
  });

  it('is the one of whoever renews: a lease is moved there, and keeps its term', async () => {
    const [job, ann, thread] = [newName(), await start('ann'), await start('ann')];
    const term = await ann.take(job, ttlMs);
    const request = { name: job, holder: ann.holder, term, ttlMs };
    expect(await thread.client.renew([request], call)).toEqual([{ outcome: 'renewed' }]);
    await ann.client.close();
    for (let round = 0; round < 3; round++) {
      await pause(ttlMs / 2);
      expect(await thread.client.renew([request], call)).toEqual([{ outcome: 'renewed' }]);
    }
  });
});

describe('a process that is gone', () => {
  it('holds nothing after its ttl, and its lock-delay begins when that is noticed', async () => {
    const [plain, delayed] = [newName(), newName()];
    const [ann, bob] = [await start('ann'), await start('bob')];
    await ann.take(plain, ttlMs);
    await ann.take(delayed, ttlMs, { graceMs: ttlMs });
    await ann.vanish();
    expect(await bob.tries(plain)).toBe('held');
    await until('the end of the session', () => isFree(bob.client, plain));
    const [record] = await bob.client.read([delayed], call);
    expect(record?.state).toBe('lock-delay');
    expect(await bob.tries(delayed)).toBe('held');
    await until('the end of the lock-delay', () => isFree(bob.client, delayed));
    await bob.take(delayed, ttlMs);
  });

  it('leaves no orphan in the way, although it never heard of its grant', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    await ann.client.read([job], call);
    let isWritten = false;
    ann.proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => {
        isWritten ||= hasMulti(bytes);
        return 'none';
      },
    });
    ann.proxy.down.set({ kind: 'judge', fateOf: () => (isWritten ? 'swallow' : 'none') });
    const lost = ann.client.acquire([ann.request(job, ttlMs)], { timeoutMs: 300 });
    await expect(lost).rejects.toThrow('may have been executed');
    expect(await bob.tries(job)).toBe('held');
    await ann.vanish();
    await until('the end of the orphan', async () => (await bob.tries(job)) === 'granted');
  });

  it('is ended by its own clock if it lives, was granted a name without knowing it, and never asks', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    await ann.take(newName(), ttlMs);
    let isWritten = false;
    ann.proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => {
        isWritten ||= hasMulti(bytes);
        return 'none';
      },
    });
    ann.proxy.down.set({ kind: 'judge', fateOf: () => (isWritten ? 'swallow' : 'none') });
    const lost = ann.client.acquire([ann.request(job, ttlMs)], { timeoutMs: 300 });
    await expect(lost).rejects.toThrow('may have been executed');
    ann.proxy.heal();
    await until('its end', async () => (await bob.tries(job)) === 'granted');
  });
});

describe('a request that arrives late', () => {
  it('is refused with its guard, although the session it came from lives', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    // The session for this ttl is there, and outlives everything that follows.
    await ann.take(newName(), longTtlMs);
    // The write is held, and so is whatever would take its session away from it.
    ann.proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => (hasMulti(bytes) || goesOn(bytes) ? 'hold' : 'none'),
    });
    const late = ann.client.acquire([ann.request(job, longTtlMs)], { timeoutMs: 250 });
    await expect(late).rejects.toThrow('may have been executed');
    // Reads still pass: there is another connection, and what the first one had as its guard is deleted.
    await ann.client.read([job], call);
    ann.proxy.up.heal();
    await asOperator(server, (connection) => connection.sync('/'));
    expect(await isFree(bob.client, job)).toBe(true);
  });

  it('is refused after the smallest session time-out if its sender reaches nobody any more', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    await ann.take(newName(), longTtlMs);
    let isWritten = false;
    ann.proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => {
        isWritten ||= hasMulti(bytes);
        return isWritten ? 'hold' : 'none';
      },
    });
    const late = ann.client.acquire([ann.request(job, longTtlMs)], { timeoutMs: 250 });
    await expect(late).rejects.toThrow('may have been executed');
    await pause(limits.smallestTtlMs + 150);
    ann.proxy.up.heal();
    await asOperator(server, (connection) => connection.sync('/'));
    expect(await isFree(bob.client, job)).toBe(true);
  });
});

describe('terms', () => {
  it('are the numbers of the granting transactions, counted from the moment at which the namespace was made', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const term = await ann.take(job, longTtlMs);
    const [czxid, root] = await asOperator(server, async (connection) => {
      const { data, stat } = await connection.getData(paths.name(job));
      const attempt = decodeState(data, stat)?.lease?.attempt ?? '';
      const lease = await connection.getData(paths.lease(job, attempt));
      const { stat: made } = await connection.getData(paths.root);
      return [lease.stat.createdZxid, made];
    });
    expect(term).toBe(root.createdAtMs * 64 + czxid - root.createdZxid);
  });

  it('rise although somebody deletes all that the namespace has', async () => {
    const own = newNamespace();
    const [job, ann] = [newName(), await start('ann', { namespace: own.namespace })];
    const term = await ann.take(job, ttlMs);
    await asOperator(server, async function deleteAll(connection, path = own.paths.root) {
      for (const child of await connection.getChildren(path))
        await deleteAll(connection, `${path}/${child}`);
      await connection.delete(path);
    });
    await until('a grant in the new namespace', async () => {
      const [result] = await ann.client.acquire([ann.request(job, ttlMs)], call);
      return result?.outcome === 'granted' && result.term > term;
    });
  });
});

describe('waiting', () => {
  it('is not in vain when the session of the holder ends: the first who wait are called, with nobody polling', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    await ann.take(job, ttlMs);
    const calls: Call[] = [];
    bob.client.onCalled(bob.holder, (told) => calls.push(told));
    const entry = { name: job, holder: bob.holder, standing: 'waiting', preference: 0 } as const;
    await bob.client.enroll([{ ...entry, ttlMs: longTtlMs }], call);
    await pause(100);
    await ann.vanish();
    await until('a call', () => calls.some((told) => told.name === job));
    expect(calls).toContainEqual({ name: job, position: 0 });
  });

  it('costs one watch each: however many wait, three watch the name, and the others the one before them', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const waiters = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((one) => start(`waiter-${one}`)));
    await ann.take(job, longTtlMs);
    for (const { client, holder } of waiters) {
      client.onCalled(holder, () => {});
      const entry = { name: job, holder, standing: 'waiting', preference: 0 } as const;
      await client.enroll([{ ...entry, ttlMs: longTtlMs }], call);
    }
    // Those in front hear of the next thing that happens to the name, and know then who is in front now.
    await ann.client.suspend(job, { by: 'ops', reason: 'to see who looks' }, call);
    await pause(200);
    expect((await server.watches()).get(paths.name(job))).toBe(3);
    const asked = waiters.map(({ proxy }) => countRequests(proxy));
    await ann.client.resume(job, { by: 'ops', reason: 'to see who looks' }, call);
    await pause(300);
    expect(asked.map(({ count }) => count > 0)).toEqual([
      ...[true, true, true],
      ...[false, false, false, false],
    ]);
    // The one before the fourth goes, and with it the place: it comes up.
    const [, , third] = waiters;
    await third?.client.withdraw([{ name: job, holder: third.holder }], call);
    await until('the fourth to come up', () => (asked[3]?.count ?? 0) > 0);
    expect(asked.slice(4).map(({ count }) => count)).toEqual([0, 0, 0]);
  });

  it('is not in vain for who was not there when it was looked, and has entered again further back', async () => {
    const [job, ann, late] = [newName(), await start('ann'), await start('late')];
    const term = await ann.take(job, longTtlMs);
    const enter = ({ client, holder }: Process, lastsMs: number) =>
      client.enroll(
        [{ name: job, holder, standing: 'waiting', preference: 0, ttlMs: lastsMs }],
        call,
      );
    await enter(late, ttlMs);
    await until('the end of the entry', async () => {
      return (await ann.client.candidates(job, call)).length === 0;
    });
    const others = await Promise.all([1, 2, 3, 4].map((one) => start(`waiter-${one}`)));
    for (const other of others) await enter(other, longTtlMs);
    const calls: Call[] = [];
    late.client.onCalled(late.holder, (told) => calls.push(told));
    await pause(300);
    await enter(late, longTtlMs);
    await pause(300);
    for (const { client, holder } of others) await client.withdraw([{ name: job, holder }], call);
    await ann.release(job, term);
    await until('a call', () => calls.some((told) => told.name === job));
  });

  it('is found by a handoff wherever the successor stands', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const term = await ann.take(job, longTtlMs);
    const waiters = await Promise.all([1, 2, 3, 4, 5].map((one) => start(`waiter-${one}`)));
    const heard: string[] = [];
    for (const { client, holder } of waiters) {
      client.onCalled(holder, () => heard.push(holder.id));
      const entry = { name: job, holder, standing: 'waiting', preference: 0 } as const;
      await client.enroll([{ ...entry, ttlMs: longTtlMs }], call);
    }
    await pause(150);
    const handoff = { name: job, holder: ann.holder, term, to: 'waiter-5', reserveMs: longTtlMs };
    await ann.client.handoff([handoff], call);
    await until('a call of the successor', () => heard.length > 0);
    expect(heard).toEqual(['waiter-5']);
  });
});

describe('a server', () => {
  it('that is frozen is noticed in time, and the lease is there when it goes on', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const term = await ann.take(job, longTtlMs);
    server.freeze();
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
      server.thaw();
    }
    await until('a renewal', async () => {
      const renewed = await ann.renew(job, term, longTtlMs).catch(() => undefined);
      return renewed?.outcome === 'renewed';
    });
  });

  it('has a clock that can be stepped, as the conformance cases assume', async () => {
    const touch = () =>
      asOperator(server, async (connection) => {
        const { stat } = await connection.setData('/', Buffer.alloc(0));
        return stat?.modifiedAtMs ?? 0;
      });
    const beforeMs = await touch();
    server.stepClock(3_600_000);
    expect((await touch()) - beforeMs).toBeGreaterThan(3_500_000);
    server.stepClock(-3_600_000);
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
    await asOperator(server, (connection) =>
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
      asOperator(server, (connection) => connection.getData(own.paths.name(one))).then(
        ({ data }) => data.toString(),
        () => 'none',
      );
    // Each process looks after its first acquire, and then now and then.
    const look = async () => {
      const one = await start('looker', inOwn);
      return one.take('idle/other', longTtlMs).then((term) => one.release('idle/other', term));
    };
    server.stepClock(hourMs);
    await look();
    await until('the mark', async () => (await text('idle/gone')).includes('swept'));
    expect(await isFree(ann.client, 'idle/again')).toBe(true);
    const again = await ann.take('idle/again', longTtlMs);
    server.stepClock(hourMs);
    await look();
    await until('the end of the node', async () => (await text('idle/gone')) === 'none');
    expect(await ann.renew('idle/again', again, longTtlMs)).toEqual({ outcome: 'renewed' });
    expect(await ann.renew('idle/held', held, longTtlMs)).toEqual({ outcome: 'renewed' });
    expect(await ann.tries('idle/stopped')).toBe('held');
    await ann.take('idle/gone', longTtlMs);
    server.stepClock(-2 * hourMs);
  });
});

describe('the path and the login in the URL', () => {
  it('a path that is missing is made, and everything stands below it', async () => {
    const ann = await Process.start(
      server,
      'ann',
      { namespace },
      (port) => `zookeeper://127.0.0.1:${port}/apps/billing`,
    );
    open.push(ann);
    await ann.take('x', ttlMs);
    const children = await asOperator(server, (connection) =>
      connection.getChildren('/apps/billing/tenure'),
    );
    expect(children).toHaveLength(1);
  });

  it('with a login nobody else can read, and a wrong password is refused and never printed', async () => {
    const withLogin = (login: string) => (port: number) =>
      `zookeeper://${login}@127.0.0.1:${port}/secret`;
    const own = newNamespace();
    const options = { namespace: own.namespace };
    const ann = await Process.start(server, 'ann', options, withLogin('app:open%40sesame'));
    const eve = await Process.start(server, 'eve', options, withLogin('app:wrongword'));
    open.push(ann, eve);
    const warnings: string[] = [];
    ann.client.on('warning', ({ message }) => warnings.push(message));
    await ann.take('x', ttlMs);
    expect(warnings).toEqual([]);
    const refused = eve.tries('x');
    await expect(refused).rejects.toThrow(StoreMisconfiguredError);
    await expect(refused).rejects.toThrow('NO_AUTH');
    await expect(refused).rejects.not.toThrow('wrongword');
    await asOperator(server, async (connection) => {
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

describe('a client library', () => {
  it('calls a session connected that the server has ended long ago; ours has noticed by then', async () => {
    const proxy = await FaultProxy.start(server.port);
    open.push(proxy);
    const library = zookeeper.createClient(`127.0.0.1:${proxy.port}`, {
      sessionTimeout: limits.smallestTtlMs,
    });
    library.connect();
    await once(library, 'connected');
    const ann = await start('ann');
    let isLost = false;
    await ann.client.read(['x'], call);
    ann.client.onConnectionLost(() => {
      isLost = true;
    });
    for (const { up, down } of [proxy, ann.proxy]) {
      // With an answer on its way, the end of the connection stays on its way behind it.
      down.hold();
      await down.caught();
      up.swallow();
    }
    await pause(limits.smallestTtlMs * 2);
    expect(library.getState()).toBe(zookeeper.State.SYNC_CONNECTED);
    expect(isLost).toBe(true);
    await proxy.stop();
    open.splice(open.indexOf(proxy), 1);
    library.close();
  });
});

/** Whether it is the handshake of a session that has been before. */
function goesOn(bytes: Buffer): boolean {
  return bytes.length >= 28 && bytes.readInt32BE(4) === 0 && bytes.readBigInt64BE(20) !== 0n;
}

/** Counts the requests from now on, pings left out. */
function countRequests(proxy: FaultProxy): { count: number } {
  const seen = { count: 0 };
  proxy.up.set({
    kind: 'judge',
    fateOf: (bytes) => {
      if (bytes.length !== 12 || bytes.readInt32BE(8) !== 11) seen.count += 1;
      return 'none';
    },
  });
  return seen;
}

/** As somebody who has stolen the session: takes it over from elsewhere, and ends it. */
async function endFromOutside(process: Process, sessionMs: number): Promise<void> {
  const ticket = process.tickets.find(({ timeoutMs }) => timeoutMs === sessionMs);
  // Or its owner would take it back at once.
  process.proxy.refuse(true);
  const thief = zookeeper.createClient(`127.0.0.1:${server.port}`, {
    sessionTimeout: sessionMs,
    ...({ sessionId: ticket?.id, sessionPassword: ticket?.password } as object),
  });
  thief.connect();
  await once(thief, 'connected');
  expect(thief.getSessionId()).toEqual(ticket?.id);
  thief.close();
  await once(thief, 'disconnected');
  process.proxy.refuse(false);
}
