import type { Lease } from '../../leases/index.js';
import { sleep } from '../../time/index.js';
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
 * @throws {InterruptedError} if a signal ends it, and what {@link Election.campaign} throws.
 */
export async function campaign(context: RunContext): Promise<Lease | number> {
  const { plan, election, signals } = context;
  const stopping = signals.passToWait();
  stopping.throwIfAborted();
  await connect(context, stopping);
  const over = new AbortController();
  const told = plan.waitMs > 0 ? tellWhomWeWaitFor(context, over.signal) : undefined;
  try {
    const { waitMs } = plan;
    const lease = await election.campaign({ waitMs, signal: stopping });
    return lease ?? (await notElected(context));
  } finally {
    // To withdraw takes a request. What is heard meanwhile is for who works with the lease.
    signals.keep();
    over.abort();
    await told;
  }
}

/**
 * A request of a short lease has little time, and connecting takes some. So that comes first, with the patience of any
 * other command. If it fails, a campaign that may wait goes on all the same, and tells.
 *
 * @throws the store's error if there is to be one try only, and the reason of `stopping`.
 */
async function connect({ plan, leases }: RunContext, stopping: AbortSignal): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    stopping.addEventListener('abort', () => resolve(), { once: true });
  });
  const asked = leases.coordinator.read([plan.name], call).catch((error: unknown) => {
    if (plan.waitMs === 0) throw error;
  });
  await Promise.race([asked, stopped]);
  stopping.throwIfAborted();
}

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
