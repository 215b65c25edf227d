import { setTimeout } from 'node:timers/promises';

/** Shorter than the limit of a test, so that the message says what was waited for. */
const patienceMs = 45_000;
const pauseMs = 20;

/**
 * Asks again and again until there is something (neither `undefined` nor `false`), and returns it: what a server or another process does
 * by itself tells nobody when. Its limit is only patience, and no requirement; `expect.poll` does not work where tests run
 * concurrently.
 */
export async function until<Found>(
  what: string,
  probe: () => Found | Promise<Found>,
  limitMs = patienceMs,
): Promise<Exclude<Found, undefined | false>> {
  const startedMs = performance.now();
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found as Exclude<Found, undefined | false>;
    if (performance.now() - startedMs > limitMs)
      throw new Error(`${what} did not come about within ${limitMs} ms`);
    await setTimeout(pauseMs);
  }
}
