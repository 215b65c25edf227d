import type { MemoryKeys } from '../../src/once/memory/index.js';

/** Lets the Unix times of a key lie so much later, as if the wall clock had been set back since. */
export function setBack(state: MemoryKeys, key: string, durationMs: number): void {
  const { stored } = state.find(key);
  if (stored === undefined) return;
  const { startedAtMs, deadlineAtMs, expiresAtMs } = stored;
  state.put(key, {
    ...stored,
    ...{ startedAtMs: startedAtMs + durationMs, deadlineAtMs: deadlineAtMs + durationMs },
    ...(expiresAtMs !== undefined && { expiresAtMs: expiresAtMs + durationMs }),
  });
}
