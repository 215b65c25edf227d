import { describe, expect, it, vi } from 'vitest';
import { OutcomeUnknownError } from '../../src/errors/index.js';
import { realRuntime } from '../../src/time/index.js';
import { Gate, type Gateway } from '../drivers/etcd/gateway.js';
import { until } from '../support/until.js';
import { isDeletion, useEtcd } from './etcd-late-stage.js';
import { Actor, call, pause } from './etcd-stage.js';

vi.setConfig({ testTimeout: 40_000 });

const onEtcd = useEtcd();
const { stage } = onEtcd;

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
      await onEtcd.cluster.etcdctl('del', '--prefix', `${control}${part}/emptied/`);
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
