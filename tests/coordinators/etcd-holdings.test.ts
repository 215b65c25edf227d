import { describe, expect, it } from 'vitest';
import { type HeldLease, type Holding, Holdings } from '../../src/coordinators/etcd/holdings.js';
import { queueValue } from '../../src/coordinators/etcd/values.js';
import { Holder } from '../../src/coordinators/holder.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

const runtime = new VirtualRuntime();
const holder = Holder.create('ann', runtime);

function leaseAt(key: string, attempt: string): HeldLease {
  const place = { name: 'name', key, leaseId: '1', from: runtime.now(), lifeMs: 2_000 };
  const lease = { holder, attempt, term: 5, graceMs: 0, guardId: undefined, modRevision: 5 };
  return { kind: 'lease', ...place, ...lease, seenRevision: 5, isLeaving: false };
}

describe('what a coordinator on etcd holds', () => {
  it('word of the end of an older lease, that comes late, leaves the newer one to be ended in its time', async () => {
    const ended: Holding[] = [];
    const holdings = new Holdings(runtime, async (holding) => void ended.push(holding));
    const newer = leaseAt('key-2', 'b');
    holdings.note(leaseAt('key-1', 'a'));
    holdings.note(newer);
    holdings.forget('lease', 'name', 'key-1');
    expect(holdings.leaseOf('name')).toBe(newer);
    await runtime.advance(2_000);
    expect(ended).toEqual([newer]);
    holdings.close();
  });

  it('the time of what cannot be ended stays over, and its end is tried until it succeeds', async () => {
    let tryCount = 0;
    const holdings = new Holdings(runtime, async () => {
      tryCount += 1;
      if (tryCount < 4) throw new Error('out of reach');
    });
    const lease = leaseAt('key', 'a');
    holdings.note(lease);
    await runtime.advance(2_000);
    for (let round = 1; round < 4; round++) {
      expect([tryCount, holdings.leaseOf('name')]).toEqual([round, undefined]);
      expect(holdings.lastLeaseOf('name')).toBe(lease);
      expect(holdings.isOver(lease)).toBe(true);
      await runtime.advance(250);
    }
    expect([tryCount, holdings.lastLeaseOf('name')]).toEqual([4, undefined]);
    holdings.close();
  });

  it('what has taken the place of something that could not be ended is not ended with it', async () => {
    let tryCount = 0;
    const holdings = new Holdings(runtime, async () => {
      tryCount += 1;
      throw new Error('out of reach');
    });
    holdings.note(leaseAt('key', 'a'));
    await runtime.advance(2_000);
    const newer = leaseAt('key', 'b');
    holdings.note(newer);
    await runtime.advance(1_000);
    expect([tryCount, holdings.leaseOf('name')]).toEqual([1, newer]);
    holdings.close();
  });

  it('to ask for an acquisition once more extends nothing of what it may have done', async () => {
    const ended: Holding[] = [];
    const holdings = new Holdings(runtime, async (holding) => void ended.push(holding));
    const doubtful = { name: 'name', holder, attempt: 'a', ttlMs: 2_000 };
    holdings.doubtLease(doubtful);
    await runtime.advance(1_500);
    holdings.doubtLease(doubtful);
    await runtime.advance(500);
    expect(ended).toMatchObject([{ kind: 'doubt', attempt: 'a' }]);
    holdings.close();
  });
});

describe('what stands under a key of etcd', () => {
  const whole = {
    ...{ tenure: 1, state: 'leads', holder: holder.wire, attempt: 'a'.repeat(32) },
    ...{ ttlMs: 1, grantedAtMs: 1, renewedAtMs: 1, graceMs: 0, offset: 0 },
  };

  it.each(['attempt', 'ttlMs', 'grantedAtMs', 'renewedAtMs', 'graceMs', 'offset'])(
    'a lease without %s was damaged: it is not taken for one of ours',
    (field) => {
      expect(queueValue(JSON.stringify(whole))).toMatchObject({ state: 'leads' });
      expect(queueValue(JSON.stringify({ ...whole, [field]: undefined }))).toBeUndefined();
    },
  );
});
