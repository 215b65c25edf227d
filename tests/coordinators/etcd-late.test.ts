import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { OutcomeUnknownError } from '../../src/errors/index.js';
import { type EtcdCoordinator, etcdCoordinator } from '../../src/etcd.js';
import { realRuntime } from '../../src/time/index.js';
import { Gate, Gateway } from '../drivers/etcd/gateway.js';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { Actor, call, pause } from './etcd-stage.js';

vi.setConfig({ testTimeout: 40_000 });

let cluster: EtcdCluster;
const clients: EtcdCoordinator[] = [];
const gateways: Gateway[] = [];

beforeAll(async () => {
  cluster = await startEtcd();
});
afterAll(async () => {
  for (const client of clients) await client.close();
  for (const gateway of gateways) gateway.stop();
  await cluster.stop();
});

/** Two who meet in a namespace of their own, the first behind a gateway. */
async function stage() {
  const gateway = await Gateway.start(cluster.members[0]?.port ?? 0);
  gateways.push(gateway);
  const namespace = `late-${gateways.length}`;
  const actor = (id: string, url: string) => {
    const client = etcdCoordinator(url, { namespace });
    clients.push(client);
    return new Actor(client, id);
  };
  const direct = cluster.url.replace('etcd://', '');
  const [ann, bob] = [actor('ann', gateway.url), actor('bob', cluster.url)];
  return { gateway, namespace, ann, bob, twoWays: () => actor('ann', `${gateway.url},${direct}`) };
}

const keepAlive = '/v3/lease/keepalive';
const isDeletion = (body: string) => /request_delete_range/.test(body) && !/request_put/.test(body);

const isEnd = (body: string) => /request_delete_range/.test(body);

/** What a request or its answer may do that is late, while something else happens. */
describe.concurrent('etcd: what comes late', () => {
  it('a withdrawal beside an acquisition leaves the lease that was granted meanwhile', async () => {
    const { gateway, ann, bob } = await stage();
    await ann.enroll('entered');
    const [reached, go] = [new Gate(), new Gate()];
    gateway.beforeRequest = ({ body }) => {
      if (!isDeletion(body)) return undefined;
      reached.open();
      return go.opened;
    };
    const request = { name: 'entered', holder: ann.holder };
    const withdrawal = ann.client.withdraw([request], call);
    await reached.opened;
    const term = await ann.take('entered');
    go.open();
    await withdrawal;
    expect((await bob.acquire('entered')).outcome).toBe('held');
    expect((await ann.held('entered')).term).toBe(term);
    expect(await bob.client.candidates('entered', call)).toEqual([]);
  });

  it('who ceases to wait beside an acquisition keeps the lease that was granted meanwhile', async () => {
    const { gateway, ann, bob } = await stage();
    await ann.enroll('observed');
    const [reached, go] = [new Gate(), new Gate()];
    gateway.beforeRequest = ({ body }) => {
      if (!/request_delete_range/.test(body)) return undefined;
      reached.open();
      return go.opened;
    };
    const entry = { name: 'observed', holder: ann.holder, preference: 0, ttlMs: 10_000 };
    const change = ann.client.enroll([{ ...entry, standing: 'observing' }], call);
    await reached.opened;
    gateway.beforeRequest = () => undefined;
    const term = await ann.take('observed');
    go.open();
    await change;
    expect((await bob.acquire('observed')).outcome).toBe('held');
    expect((await ann.held('observed')).term).toBe(term);
  });

  it('a name that is given back before the first look of who has just entered calls it all the same', async () => {
    const stand = await stage();
    const { ann, bob } = stand;
    const term = await bob.take('left-early', { ttlMs: 20_000 });
    const { reached, go, called } = await enteredBeforeLook(stand, 'left-early');
    await reached.opened;
    await bob.release('left-early', term);
    go.open();
    await called;
    expect((await ann.acquire('left-early')).outcome).toBe('granted');
  });

  it('so does one that was free at its entry, if it was kept out meanwhile', async () => {
    const stand = await stage();
    const { ann, bob } = stand;
    const { reached, go, called } = await enteredBeforeLook(stand, 'free-early');
    await reached.opened;
    const term = await bob.take('free-early', { ttlMs: 20_000 });
    expect((await ann.acquire('free-early')).outcome).toBe('held');
    await bob.release('free-early', term);
    go.open();
    await called;
    expect((await ann.acquire('free-early')).outcome).toBe('granted');
  });

  it('who was one of the first at its entry, but not at its look, is called as one when it is one again', async () => {
    const stand = await stage();
    const { ann, bob } = stand;
    const term = await bob.take('moved', { ttlMs: 20_000 });
    for (const id of ['gone', 'lost']) await new Actor(bob.client, id).enroll('moved', 20_000);
    const { reached, go, called } = await enteredBeforeLook(stand, 'moved');
    await reached.opened;
    const preferred = new Actor(bob.client, 'preferred');
    await preferred.enroll('moved', 20_000, 9);
    go.open();
    await pause(300);
    await bob.client.withdraw([{ name: 'moved', holder: preferred.holder }], call);
    await ann.enroll('moved', 20_000);
    await pause(300);
    await bob.release('moved', term);
    await called;
  });

  it('the end of a lock-delay that never was wakes the first who wait, and nobody else', async () => {
    const { gateway, ann, bob } = await stage();
    const term = await bob.take('delayed', { ttlMs: 20_000, graceMs: 5_000 });
    const first = new Actor(bob.client, 'first');
    const called = new Gate();
    bob.client.onCalled(first.holder, called.open);
    let callCount = 0;
    ann.client.onCalled(ann.holder, () => {
      callCount += 1;
    });
    await first.enroll('delayed');
    for (const id of ['second', 'third', 'fourth'])
      await new Actor(bob.client, id).enroll('delayed');
    await ann.enroll('delayed');
    await pause(300);
    let requestCount = 0;
    gateway.beforeRequest = ({ path }) => {
      if (path === '/v3/kv/txn') requestCount += 1;
      return undefined;
    };
    await bob.release('delayed', term);
    await called.opened;
    await pause(500);
    expect([requestCount, callCount]).toEqual([0, 0]);
  });

  it('a renewal extends the store lease anew: one that was sent before it may be executed already', async () => {
    const { gateway, ann, bob } = await stage();
    const ttlMs = 3_000;
    const term = await ann.take('renewed', { ttlMs });
    const [answered, go] = [new Gate(), new Gate()];
    gateway.beforeAnswer = ({ path }) => {
      if (path !== keepAlive) return undefined;
      gateway.beforeAnswer = () => undefined;
      answered.open();
      return go.opened;
    };
    const other = ann.acquire('other', { ttlMs }, { timeoutMs: 10_000 });
    await answered.opened;
    await pause(1_900);
    const sentMs = performance.now();
    expect(await ann.renew('renewed', term, ttlMs, { timeoutMs: 900 })).toBe('renewed');
    go.open();
    await other;
    await ann.client.close();
    await until('the end', async () => (await bob.acquire('renewed')).outcome === 'granted');
    expect(performance.now() - sentMs).toBeGreaterThan(ttlMs);
  });

  it('a call keeps its time, though another one with more of it extends the same store lease', async () => {
    const { gateway, ann, bob } = await stage();
    await ann.take('any', { ttlMs: 3_000 });
    const go = new Gate();
    gateway.beforeAnswer = ({ path }) => (path === keepAlive ? go.opened : undefined);
    const long = ann.acquire('long', { ttlMs: 3_000 }, { timeoutMs: 10_000 });
    const sentMs = performance.now();
    await expect(ann.acquire('short', { ttlMs: 3_000 }, { timeoutMs: 300 })).rejects.toThrow();
    expect(performance.now() - sentMs).toBeLessThan(5_000);
    go.open();
    expect((await long).outcome).toBe('granted');
    expect((await bob.acquire('short')).outcome).toBe('granted');
  });

  it('a call goes on with its own time when one with less of it gave up the store lease of both', async () => {
    const { gateway, ann } = await stage();
    const term = await ann.take('patient', { ttlMs: 4_000 });
    const go = new Gate();
    gateway.beforeAnswer = ({ path }) => (path === keepAlive ? go.opened : undefined);
    const short = ann.acquire('hurried', { ttlMs: 4_000 }, { timeoutMs: 300 });
    const long = ann.renew('patient', term, 4_000, { timeoutMs: 3_000 });
    await expect(short).rejects.toThrow();
    go.open();
    expect(await long).toBe('renewed');
  });

  it('an acquisition that was undone is not executed any more, however late it arrives', async () => {
    const { gateway, ann, bob } = await stage();
    const { attempt, arrive } = await lateAcquisition(gateway, ann, 'undone');
    const undoing = { name: 'undone', holder: ann.holder, attempt };
    expect(await ann.client.release([undoing], call)).toEqual([
      { outcome: 'not-yours', reason: 'vanished' },
    ]);
    await arrive();
    expect(await bob.client.read(['undone'], call)).toEqual([undefined]);
    expect((await bob.acquire('undone')).outcome).toBe('granted');
  });

  it('an acquisition that nobody undoes is not executed after its time', async () => {
    const { gateway, ann, bob } = await stage();
    const kept = await ann.take('stays');
    const { arrive } = await lateAcquisition(gateway, ann, 'forgotten');
    // Something else keeps the store lease that it would hang on.
    for (let round = 0; round < 6; round++) {
      await pause(500);
      expect(await ann.renew('stays', kept)).toBe('renewed');
    }
    await arrive();
    expect(await ann.renew('stays', kept)).toBe('renewed');
    expect(await bob.client.read(['forgotten'], call)).toEqual([undefined]);
  });

  it('an acquisition that is executed late, in its time, ends in it, though its holder has another lease', async () => {
    const { gateway, ann, bob } = await stage();
    const kept = await ann.take('lives');
    const { arrive } = await lateAcquisition(gateway, ann, 'late');
    await arrive();
    expect((await bob.acquire('late')).outcome).toBe('held');
    await until('the end', async () => {
      expect(await ann.renew('lives', kept)).toBe('renewed');
      return (await bob.acquire('late')).outcome === 'granted';
    });
  });

  it('of two requests for one attempt, the first is not executed after the second has ended', async () => {
    const { gateway, bob, twoWays } = await stage();
    const ann = twoWays();
    await ann.client.read(['twice'], call);
    const { hold, arrive } = holdGrants(gateway);
    const term = await ann.take('twice');
    await hold;
    await ann.release('twice', term);
    await arrive();
    expect(await bob.client.read(['twice'], call)).toEqual([undefined]);
  });

  it('an entry that arrives late, after its time, is not made', async () => {
    const { gateway, ann, bob } = await stage();
    const kept = await ann.take('keeps');
    const { hold, arrive } = holdGrants(gateway);
    const entry = { name: 'queue', holder: ann.holder, preference: 0, ttlMs: 2_000 };
    const late = ann.client.enroll([{ ...entry, standing: 'waiting' }], { timeoutMs: 500 });
    await expect(late).rejects.toThrow(OutcomeUnknownError);
    await hold;
    for (let round = 0; round < 6; round++) {
      await pause(500);
      expect(await ann.renew('keeps', kept)).toBe('renewed');
    }
    await arrive();
    expect(await ann.renew('keeps', kept)).toBe('renewed');
    expect(await bob.client.candidates('queue', call)).toEqual([]);
  });

  it('a withdrawal that arrives when its holder has entered again takes nothing of the entry', async () => {
    const { gateway, ann, bob } = await stage();
    await ann.enroll('came-back', 20_000);
    const [go, done] = [new Gate(), new Gate()];
    let sent = '';
    gateway.beforeRequest = ({ body }) => {
      if (!isDeletion(body)) return undefined;
      sent = body;
      return go.opened;
    };
    gateway.afterRequest = ({ body }) => {
      if (body === sent) done.open();
    };
    const request = { name: 'came-back', holder: ann.holder };
    const withdrawal = ann.client.withdraw([request], { timeoutMs: 500 });
    await expect(withdrawal).rejects.toThrow(OutcomeUnknownError);
    await ann.enroll('came-back', 20_000);
    go.open();
    await done.opened;
    expect(await bob.client.candidates('came-back', call)).toHaveLength(1);
    const behind = new Actor(bob.client, 'behind');
    const entry = { standing: 'waiting', preference: 0, ttlMs: 20_000 } as const;
    const after = { name: 'came-back', holder: behind.holder, ...entry };
    expect(await behind.client.enroll([after], call)).toMatchObject([{ position: 1 }]);
  });

  it('of an entry that is gone, nothing is asked any more once it was withdrawn', async () => {
    const { gateway, namespace, ann } = await stage();
    const other = new Actor(ann.client, 'other');
    for (const one of [ann, other]) await one.enroll('emptied', 20_000);
    const control = `:tenure/1/${namespace}/`;
    for (const part of ['candidate', 'waiting'])
      await cluster.etcdctl('del', '--prefix', `${control}${part}/emptied/`);
    await ann.client.withdraw([{ name: 'emptied', holder: ann.holder }], call);
    await other.enroll('emptied', 20_000);
    const looked = new Gate();
    let askedFor = 0;
    gateway.beforeRequest = ({ path, body }) => {
      if (path === '/v3/kv/txn' && body.includes('DESCEND')) {
        askedFor = body.split('DESCEND').length - 1;
        looked.open();
      }
      return undefined;
    };
    ann.client.onCalled(other.holder, () => {});
    await looked.opened;
    expect(askedFor, 'whom the others wait behind').toBe(1);
  });

  it('a lease whose time is over is not revived while its end cannot be written', async () => {
    const { gateway, ann, bob } = await stage();
    const [term, kept] = [await ann.take('over'), await ann.take('alive')];
    const go = new Gate();
    // The end, and nothing else, fails each time.
    gateway.beforeRequest = ({ body }) => (isDeletion(body) ? go.opened : undefined);
    for (let round = 0; round < 7; round++) {
      await pause(500);
      expect(await ann.renew('alive', kept)).toBe('renewed');
    }
    expect((await bob.held('over')).term).toBe(term);
    for (let round = 0; round < 8; round++) {
      const renewal = ann.renew('over', term, 2_000, { timeoutMs: 100 });
      expect(await renewal.catch(() => 'no answer')).not.toBe('renewed');
      await pause(50);
      expect(await ann.renew('alive', kept)).toBe('renewed');
    }
    gateway.beforeRequest = () => undefined;
    go.open();
    await until('the end', async () => (await bob.acquire('over')).outcome === 'granted');
  });

  it('a renewal that is answered after its lease was ended is no success', async () => {
    const { gateway, ann } = await stage();
    const term = await ann.take('ended');
    await pause(1_500);
    const [confirmed, go] = [new Gate(), new Gate()];
    gateway.beforeAnswer = ({ body }) => {
      if (!/request_put/.test(body) || isEnd(body)) return undefined;
      confirmed.open();
      return go.opened;
    };
    const renewal = ann.renew('ended', term, 2_000, { timeoutMs: 5_000 });
    await confirmed.opened;
    await until('the end', async () => {
      const [record] = await ann.client.read(['ended'], call);
      return record === undefined;
    });
    gateway.beforeAnswer = () => undefined;
    go.open();
    expect(await renewal).toBe('vanished');
  });

  it('a name whose end is still on its way is granted anew, and nothing of the old lease stays', async () => {
    const { gateway, ann, bob } = await stage();
    const old = await ann.take('again');
    const [reached, go] = [new Gate(), new Gate()];
    gateway.beforeRequest = ({ body }) => {
      if (!isDeletion(body)) return undefined;
      reached.open();
      return go.opened;
    };
    await reached.opened;
    const next = new Actor(ann.client, 'next');
    const term = await next.take('again');
    expect(term).toBeGreaterThan(old);
    expect(await bob.held('again')).toMatchObject({ holder: { id: 'next' }, term });
    gateway.beforeRequest = () => undefined;
    go.open();
    expect(await next.renew('again', term)).toBe('renewed');
    await next.release('again', term);
    expect(await bob.client.read(['again'], call)).toEqual([undefined]);
  });

  it.each([
    ['a refresh of an entry', 'present'],
    ['a withdrawal', 'withdrawn'],
  ] as const)(
    '%s that was sent when its holder had lost the name leaves the term that it has won since',
    async (_, to) => {
      const { gateway, ann, bob } = await stage();
      const entry = { name: 'won-again', holder: ann.holder, preference: 0, ttlMs: 20_000 };
      const enter = (standing: 'waiting' | 'present', options = call) =>
        ann.client.enroll([{ ...entry, standing }], options);
      await enter('waiting');
      await ann.take('won-again');
      await enter('present');
      const kept = await ann.take('renewed-meanwhile');
      const [expiring, expire] = [new Gate(), new Gate()];
      const [late, arrive, arrived] = [new Gate(), new Gate(), new Gate()];
      gateway.beforeRequest = ({ body }) => {
        if (!isDeletion(body)) return undefined;
        expiring.open();
        return expire.opened;
      };
      await pause(1_000);
      expect(await ann.renew('renewed-meanwhile', kept)).toBe('renewed');
      await expiring.opened;
      let sent = '';
      gateway.beforeRequest = ({ path, body }) => {
        if (path !== '/v3/kv/txn' || !/"compare":\[\{/.test(body) || sent !== '') return undefined;
        sent = body;
        late.open();
        return arrive.opened;
      };
      gateway.afterRequest = ({ body }) => {
        if (body === sent) arrived.open();
      };
      const short = { timeoutMs: 700 };
      const { name, holder } = entry;
      const change =
        to === 'present' ? enter('present', short) : ann.client.withdraw([{ name, holder }], short);
      const given = change.then(
        () => 'answered',
        () => 'given up',
      );
      // An answer means that nothing was written, and nothing is on its way.
      if ((await Promise.race([given, late.opened])) === 'answered') arrived.open();
      await given;
      gateway.beforeRequest = () => undefined;
      expire.open();
      await until('the end', async () => (await bob.client.read([name], call))[0] === undefined);
      await enter('waiting');
      const term = await ann.take(name);
      arrive.open();
      await arrived.opened;
      expect((await bob.acquire(name)).outcome).toBe('held');
      expect((await ann.held(name)).term).toBe(term);
      expect(await ann.renew(name, term)).toBe('renewed');
    },
  );

  it('a batch of renewals of which some were made is no clean failure', async () => {
    const { gateway, ann, namespace } = await stage();
    const names = [
      { name: 'short', ttlMs: 3_000 },
      { name: 'long', ttlMs: 5_000 },
    ];
    const requests = [];
    for (const { name, ttlMs } of names)
      requests.push({ name, ttlMs, holder: ann.holder, term: await ann.take(name, { ttlMs }) });
    const leaseOfLong = await cluster.etcdctl(
      'get',
      '--prefix',
      `${namespace}:long/`,
      '-w',
      'json',
    );
    const id = /"lease":(\d+)/.exec(leaseOfLong)?.[1] ?? '';
    const denied = { code: 7, message: 'permission denied' };
    gateway.refuses = ({ path, body }) =>
      path === keepAlive && body.includes(id) ? denied : undefined;
    const error = await ann.client.renew(requests, call).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.message).toMatch(/in part/);
  });
});

/** Holds what grants or lets in until it may arrive; what its answer says is of no interest any more. */
function holdGrants(gateway: Gateway): { hold: Promise<void>; arrive: () => Promise<void> } {
  const [reached, go, done] = [new Gate(), new Gate(), new Gate()];
  gateway.beforeRequest = ({ body }) => {
    if (!/request_put/.test(body)) return undefined;
    gateway.beforeRequest = () => undefined;
    gateway.afterRequest = (request) => {
      if (request.body === body) done.open();
    };
    reached.open();
    return go.opened;
  };
  const arrive = () => {
    go.open();
    return done.opened;
  };
  return { hold: reached.opened, arrive };
}

/** An acquisition that was given up, and has not arrived yet. */
async function lateAcquisition(gateway: Gateway, { client, holder }: Actor, name: string) {
  await client.read([name], call);
  const { hold, arrive } = holdGrants(gateway);
  const attempt = realRuntime.randomHex(16);
  const request = { name, holder, attempt, ttlMs: 2_000 };
  await expect(client.acquire([request], { timeoutMs: 500 })).rejects.toThrow(OutcomeUnknownError);
  await hold;
  return { attempt, arrive };
}

/** Ann has entered; the look that follows is on its way until `go`. */
async function enteredBeforeLook(
  { gateway, ann }: Awaited<ReturnType<typeof stage>>,
  name: string,
) {
  const [reached, go, call] = [new Gate(), new Gate(), new Gate()];
  let isEntered = false;
  gateway.beforeRequest = ({ path }) => {
    if (!isEntered || path !== '/v3/kv/txn') return undefined;
    gateway.beforeRequest = () => undefined;
    reached.open();
    return go.opened;
  };
  gateway.afterRequest = ({ body }) => {
    if (/request_put/.test(body)) isEntered = true;
  };
  ann.client.onCalled(ann.holder, () => call.open());
  await ann.enroll(name, 20_000);
  const tooLate = go.opened.then(() => pause(5_000)).then(() => expect.fail('nobody was called'));
  return { reached, go, called: Promise.race([call.opened, tooLate]) };
}
