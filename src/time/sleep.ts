import type { Runtime } from './runtime.js';

/** Resolves after `durationMs`, or at once and for good when `signal` aborts; never rejects. */
export function sleep(runtime: Runtime, durationMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const done = () => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = runtime.setTimer(durationMs, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
