import { isTransient } from '../../errors/index.js';
import type { Lease } from '../../leases/index.js';
import { Backoff, elapsedMs, sleep } from '../../time/index.js';
import { sayRecord } from '../display/record.js';
import { sayDuration } from '../duration.js';
import { exitStatus } from '../exit-status.js';
import { call } from '../session.js';
import type { RunContext } from './run-context.js';

/** The queue's answers are there anyway, with each refresh of our place in it; they are looked at this often. */
const lookEveryMs = 100;

/**
 * Waits until this process is elected; or answers with the exit status that says why it was not. Leaves nothing behind.
 *
 * @param hasLed whether it has led before.
 * @throws {InterruptedError} if a signal ends it, and what {@link Election.campaign} throws.
 */
export async function campaign(context: RunContext, hasLed = false): Promise<Lease | number> {
  const { plan, election, runtime, signals } = context;
  const stopping = signals.passToWait();
  stopping.throwIfAborted();
  const startedAt = runtime.now();
  const leftMs = () => Math.max(0, plan.waitMs - elapsedMs(startedAt, runtime.now()));
  await connect(context, stopping, leftMs);
  const over = new AbortController();
  const told = plan.waitMs > 0 ? tellWhomWeWaitFor(context, over.signal) : undefined;
  try {
    // Who is to go on after a loss is as steady as who leads for ever.
    const lease = plan.restartsOnLoss
      ? await election.campaignOn(leftMs(), stopping, hasLed)
      : await election.campaign({ waitMs: leftMs(), signal: stopping });
    return lease ?? (await notElected(context));
  } finally {
    // To withdraw takes a request. What is heard meanwhile is for who works with the lease.
    signals.keep();
    over.abort();
    await told;
  }
}

/** However short the wait: to connect takes time that is not the queue's. */
const shortestPatienceMs = 1_000;
const afterFailure = { firstMs: 250, limitMs: 1_000 };

/**
 * A request of a short lease has little time, and connecting takes some. So that comes first, with the patience of any
 * other command, and again until the wait is over. A campaign that may wait for ever goes on without, and tells.
 *
 * @throws the store's error if there was no time for more than this, and the reason of `stopping`.
 */
async function connect(
  { plan, runtime, leases, voice }: RunContext,
  stopping: AbortSignal,
  leftMs: () => number,
): Promise<void> {
  const stopped = new Promise<undefined>((resolve) => {
    stopping.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const backoff = new Backoff(runtime, afterFailure);
  for (;;) {
    const timeoutMs = plan.waitMs === 0 ? call.timeoutMs : patienceMs(leftMs());
    const asked = leases.coordinator.read([plan.name], { timeoutMs }).then(nothing, same);
    const error = await Promise.race([asked, stopped]);
    stopping.throwIfAborted();
    // What is no matter of time is told by the campaign.
    const isOver = error === undefined || plan.waitMs === Number.POSITIVE_INFINITY;
    if (isOver || (plan.waitMs > 0 && !isTransient(error))) return;
    if (leftMs() === 0) throw error;
    voice.sayOnce(`${error.message} Trying again.`);
    await sleep(runtime, Math.min(backoff.nextMs(), leftMs()), stopping);
    stopping.throwIfAborted();
  }
}

function patienceMs(leftMs: number): number {
  return Math.max(shortestPatienceMs, Math.min(call.timeoutMs, leftMs));
}

const nothing = (): undefined => undefined;
const same = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Says what stands under the name whenever that changes, until `over`. */
async function tellWhomWeWaitFor(context: RunContext, over: AbortSignal): Promise<void> {
  const { plan, runtime, leases, voice } = context;
  const { name } = plan;
  const place = leases.enroll(name, { standing: 'present' });
  let last = '';
  while (!over.aborted) {
    const { current } = place;
    const state = current === undefined ? '' : sayRecord(current);
    if (state !== last && state !== '') voice.say(`waiting for ${quoted(name)}: ${state}`);
    last = state;
    await sleep(runtime, lookEveryMs, over);
  }
  await place.withdraw();
}

async function notElected({ plan, election, voice, address, write }: RunContext): Promise<number> {
  const { name, waitMs } = plan;
  const record = await election.read();
  const patience = waitMs === 0 ? '' : ` within ${sayDuration(waitMs)}`;
  const isSuspended = record?.state === 'suspended';
  voice.say(`not elected for ${quoted(name)}${patience}: it is ${sayRecord(record)}`);
  voice.advise(
    isSuspended
      ? `${write(['resume', name], '--reason <why>')}, if it may go on`
      : `${write(['status', name])}, or wait longer`,
    address,
  );
  return waitMs === 0 && isSuspended ? exitStatus.refused : exitStatus.notInTime;
}

export function quoted(name: string): string {
  return JSON.stringify(name);
}
