import { describe, expect, it, vi } from 'vitest';
import { Gate } from '../drivers/etcd/gateway.js';
import { type Stage, useEtcd } from './etcd-late-stage.js';
import { Actor, call, pause } from './etcd-stage.js';

vi.setConfig({ testTimeout: 40_000 });

const onEtcd = useEtcd();
const { stage } = onEtcd;

/** What a look at the queue may miss while something else happens. */
describe.concurrent('etcd: who comes late to be called', () => {
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
});

/** Ann has entered; the look that follows is on its way until `go`. */
async function enteredBeforeLook({ gateway, ann }: Stage, name: string) {
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
