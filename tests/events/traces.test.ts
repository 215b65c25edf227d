import { afterEach, describe, expect, it } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { Elections } from '../../src/elections/index.js';
import { traces } from '../../src/events/index.js';
import { MemoryResource, memoryFence } from '../../src/fences/memory/index.js';
import { Leases } from '../../src/leases/index.js';
import { subscribed } from '../support/diagnostics.js';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

function process(store: MemoryStore, id: string) {
  const coordinator = memoryCoordinator(store);
  const leases = new Leases(coordinator, { id });
  ended.push(() => leases.close());
  return { leases, elections: new Elections(leases) };
}

const nonceOf = ({ holder }: Leases) => holder.wire.slice(holder.id.length + 1);

describe('the tracing channels', () => {
  it('tell a campaign, the term it won, and the handoff that ended it', async () => {
    const told = subscribed(traces, ended);
    const store = new MemoryStore();
    const { leases, elections } = process(store, 'a');
    const election = elections.election('payments');
    const lease = await election.campaign();
    const { term } = lease ?? {};
    await election.handoff('b');
    await elections.close();
    await leases.close();
    const at = (name: string) => told.filter(({ channel }) => channel === name);
    expect(at('campaign').map(({ what }) => what)).toEqual(['start', 'asyncEnd']);
    expect(at('campaign')[1]?.context).toMatchObject({ name: 'payments', id: 'a', term });
    expect(at('term').map(({ what }) => what)).toEqual(['start', 'asyncEnd']);
    expect(at('term')[1]?.context).toMatchObject({ name: 'payments', term, reason: 'handed-off' });
    expect(at('handoff').map(({ what }) => what)).toEqual(['start', 'asyncEnd']);
    expect(at('handoff')[1]?.context).toMatchObject({
      names: ['payments'],
      to: ['b'],
      confirmedCount: 1,
    });
  });

  it('tell a campaign that failed with its error, and never a nonce', async () => {
    const told = subscribed(traces, ended);
    const { leases, elections } = process(new MemoryStore(), 'a');
    await elections.election('payments').campaign();
    const other = new Leases(leases.coordinator, { id: 'c' });
    ended.push(() => other.close());
    const aborter = new AbortController();
    const losing = new Elections(other).election('payments').campaign({ signal: aborter.signal });
    aborter.abort(new Error('enough'));
    await expect(losing).rejects.toThrow('enough');
    const failed = told.find(({ what }) => what === 'error');
    expect(failed?.context).toMatchObject({
      name: 'payments',
      id: 'c',
      error: { message: 'enough' },
    });
    expect(JSON.stringify(told)).not.toContain(nonceOf(leases));
    expect(JSON.stringify(told)).not.toContain(nonceOf(other));
  });
});

describe('the channels of fences', () => {
  it('tell who was refused, and which effect was there already', async () => {
    const told = subscribed({}, ended, ['tenure:fence.refused', 'tenure:fence.repeated']);
    const { leases } = process(new MemoryStore(), 'a');
    const lease = await leases.acquire('payments');
    if (lease === undefined) throw new Error('not granted');
    const fence = memoryFence(new MemoryResource());
    ended.push(() => fence.close());
    const record = () =>
      fence.transaction(lease, (transaction) => fence.recordOnce(transaction, 'in', 'k', 1, 'id'));
    expect([await record(), await record()]).toEqual([true, false]);
    const { name, holder } = lease;
    const token = { name, holder, term: lease.term - 1 };
    await expect(fence.claim(token)).rejects.toThrow();
    expect(told.map(({ channel, context }) => [channel, context])).toEqual([
      ['tenure:fence.repeated', { resource: 'memory', scope: 'in', key: 'k', seq: 1 }],
      [
        'tenure:fence.refused',
        { resource: 'memory', name, term: lease.term - 1, installedTerm: lease.term },
      ],
    ]);
  });
});
