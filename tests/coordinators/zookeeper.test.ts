import { once } from 'node:events';
import zookeeper from 'node-zookeeper-client';
import { describe, expect, it } from 'vitest';
import { decodeState } from '../../src/coordinators/zookeeper/state.js';
import { FaultProxy } from '../support/proxy.js';
import { until } from '../support/until.js';
import {
  call,
  isFree,
  limits,
  newNamespace,
  type Process,
  pause,
  ticketIn,
  useZooKeeper,
} from './zookeeper-fixture.js';
import { asOperator, hasMulti } from './zookeeper-target.js';

const ttlMs = 700;
const longTtlMs = 20_000;

const onServer = useZooKeeper('jobs/nightly');
const { open, paths, newName, start } = onServer;

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
    const owner = await asOperator(onServer.server, async (connection) => {
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
    await asOperator(onServer.server, (connection) => connection.sync('/'));
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
    await asOperator(onServer.server, (connection) => connection.sync('/'));
    expect(await isFree(bob.client, job)).toBe(true);
  });
});

describe('terms', () => {
  it('are the numbers of the granting transactions, counted from the moment at which the namespace was made', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const term = await ann.take(job, longTtlMs);
    const [czxid, root] = await asOperator(onServer.server, async (connection) => {
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
    await asOperator(onServer.server, async function deleteAll(connection, path = own.paths.root) {
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

describe('a client library', () => {
  it('calls a session connected that the server has ended long ago; ours has noticed by then', async () => {
    const proxy = await FaultProxy.start(onServer.server.port);
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

/** As somebody who has stolen the session: takes it over from elsewhere, and ends it. */
async function endFromOutside(process: Process, sessionMs: number): Promise<void> {
  const ticket = process.tickets.find(({ timeoutMs }) => timeoutMs === sessionMs);
  // Or its owner would take it back at once.
  process.proxy.refuse(true);
  const thief = zookeeper.createClient(`127.0.0.1:${onServer.server.port}`, {
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
