import { requireKnown } from '../../errors/checks.js';
import { elapsedMs, type Instant, type Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { Found, StoredKey } from '../rules/decisions.js';

export interface MemoryKeysOptions {
  /** Where the clocks come from. Default: those of this process. */
  readonly runtime?: Runtime;
}

interface MemoryKey {
  readonly stored: StoredKey;
  /** Of its attempt, on the clock of {@link MemoryKeys.elapsedMs}. */
  readonly deadlineMs: number;
}

/** Keys in the memory of this process, for as many stores as there are simulated processes. */
export class MemoryKeys {
  readonly runtime: Runtime;
  /** @internal */
  readonly keys = new Map<string, MemoryKey>();
  readonly #startedAt: Instant;

  /** @throws {OptionError} */
  constructor(options: MemoryKeysOptions = {}) {
    this.runtime = requireRuntime(requireKnown('options', options, { runtime: true }).runtime);
    this.#startedAt = this.runtime.now();
  }

  /** @internal Milliseconds since it was made. All deadlines are on this clock. */
  elapsedMs(): number {
    return elapsedMs(this.#startedAt, this.runtime.now());
  }

  /** @internal */
  find(key: string): Found {
    const { stored, deadlineMs = 0 } = this.keys.get(key) ?? {};
    const nowMs = Math.floor(this.runtime.now().wallMs);
    return { stored, remainingMs: deadlineMs - this.elapsedMs(), nowMs };
  }

  /** @internal An attempt that begins has its time from now on; whatever else is written leaves the deadline alone. */
  put(key: string, stored: StoredKey, timeoutMs?: number): void {
    const deadlineMs =
      timeoutMs === undefined ? this.keys.get(key)?.deadlineMs : this.elapsedMs() + timeoutMs;
    this.keys.set(key, { stored, deadlineMs: deadlineMs ?? 0 });
  }
}
