import { StaleTermError } from '../../../errors/index.js';
import { type Lease, Leases } from '../../../leases/index.js';
import { elapsedMs, realRuntime, sleep } from '../../../time/index.js';
import { Gate } from '../../embedded/gate.js';
import { gated } from '../../embedded/gated.js';
import { type Bench, type Check, type Finding, observerCall, toleranceMs } from '../check.js';

/** A freezes this long into an item that takes twice as long. */
const freezeAfterMs = 200;

export const refusal: Check = {
  name: 'refusal',
  claim: 'an owner that wakes too late: its renewal and its write are refused',
  run: wakeUp,
};

async function wakeUp(bench: Bench): Promise<Finding> {
  const name = `${bench.name}/shard`;
  const { ttlMs, timing } = bench.clock;
  const gate = new Gate();
  const a = new Leases(gated(bench.openCoordinator(), gate), {
    ...timing,
    id: 'A',
    runtime: gate.runtime,
  });
  const b = new Leases(bench.openCoordinator(), { ...timing, id: 'B' });
  try {
    const old = await a.acquire(name, { waitMs: ttlMs });
    if (old === undefined) return { passed: false, figures: ['A was not granted the lease'] };
    await bench.fence.claim(old);
    const attempt = sleep(gate.runtime, freezeAfterMs * 2).then(() => write(bench, old, 'A'));
    await sleep(realRuntime, freezeAfterMs);
    gate.freeze();
    await untilExpired(bench, name);
    const current = await b.acquire(name, { waitMs: ttlMs });
    if (current === undefined) return { passed: false, figures: ['B was not granted the lease'] };
    await bench.fence.claim(current);
    await write(bench, current, 'B');
    gate.thaw();
    const refused = await attempt;
    return await judge(bench, old, current, refused);
  } finally {
    await Promise.all([a.close(), b.close()]);
  }
}

/** B does not lurk: it comes when the store has let A's lease expire. */
async function untilExpired({ observer, clock }: Bench, name: string): Promise<void> {
  const since = realRuntime.now();
  const limitMs = clock.ttlMs + clock.noticedWithinMs + toleranceMs;
  while (elapsedMs(since, realRuntime.now()) < limitMs) {
    const [record] = await observer.read([name], observerCall);
    if (record === undefined) return;
    await sleep(realRuntime, 20);
  }
}

async function judge(
  bench: Bench,
  old: Lease,
  current: Lease,
  refused: StaleTermError | undefined,
): Promise<Finding> {
  // A itself does not even ask any more: its clock says that the term is over. So the judge asks in its stead.
  const request = { name: old.name, holder: old.holder, term: old.term, ttlMs: bench.clock.ttlMs };
  const [renewal] = await bench.observer.renew([request], observerCall);
  const content = bench.fence.resource.read('writer');
  return {
    passed:
      old.state === 'lost' &&
      renewal?.outcome === 'not-yours' &&
      refused !== undefined &&
      content === 'B' &&
      current.term > old.term,
    isWrong: renewal?.outcome !== 'not-yours' || refused === undefined,
    figures: [
      `A woke ${old.state} (${old.endReason ?? 'believing'}), term ${old.term}; B has ${current.term}`,
      `its renewal: ${renewal?.outcome === 'not-yours' ? `refused (${renewal.reason})` : 'granted'}`,
      `its write: ${refused === undefined ? 'accepted, 1 stale write' : 'refused by the fence'}; last writer ${content}`,
    ],
  };
}

/** The worst handler there is: it does not look at its lease at all before it writes. */
async function write(
  { fence }: Bench,
  lease: Lease,
  writer: string,
): Promise<StaleTermError | undefined> {
  try {
    await fence.transaction(lease, async (transaction) => transaction.set('writer', writer));
    return undefined;
  } catch (error) {
    if (error instanceof StaleTermError) return error;
    throw error;
  }
}
