import { isTransient } from '../../errors/index.js';
import type { OnceStore } from '../../once/index.js';
import { Backoff, elapsedMs, type Instant, sleep } from '../../time/index.js';
import { closeUnlessStopped, heard } from '../heard.js';
import { runAtPlace, type StoreSession, type Wiring } from '../session.js';
import type { Flags } from '../settings/index.js';
import { openOnceStore } from './stores.js';

/** What a command about effects works with. */
export interface OnceSession extends StoreSession {
  readonly store: OnceStore;
}

/** Runs `tenure once <verb>` on the store that the settings name, which is opened before and closed after. */
export function runOnEffects(
  wiring: Wiring,
  verb: string,
  flags: Flags,
  body: (session: OnceSession) => Promise<boolean | number>,
): Promise<void> {
  return runAtPlace(wiring, `once ${verb}`, flags, async ({ url, source, namespace }, common) => {
    const { address, store: opened } = await openOnceStore(url, namespace, source);
    const store = heard(opened, common.signal);
    try {
      return await body({ ...common, store, address });
    } finally {
      await closeUnlessStopped(store, common.signal);
    }
  });
}

/** How long there is for an act. */
interface Deadline {
  readonly from: Instant;
  readonly timeoutMs: number;
}

const afterFailure = { firstMs: 200, limitMs: 2_000 };

/**
 * Asks again while the store gives no answer and there is time: everything that is asked may be asked twice.
 *
 * @throws the last error when the time is up, and at once what asking again does not help against.
 */
export async function insist<Answer>(
  { terminal, runtime, signal }: OnceSession,
  { from, timeoutMs }: Deadline,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const backoff = new Backoff(runtime, afterFailure);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      const pauseMs = backoff.nextMs();
      const leftMs = timeoutMs - elapsedMs(from, runtime.now());
      if (!isTransient(error) || leftMs <= pauseMs) throw error;
      if (attempt === 1) terminal.note('the store did not answer; trying again');
      await sleep(runtime, pauseMs, signal);
      signal.throwIfAborted();
    }
  }
}
