import { FaultLink } from '../../src/drivers/memory/index.js';
import { type Effect, Once, type OnceEvents, type OnceOptions } from '../../src/once/index.js';
import { MemoryKeys, memoryOnce } from '../../src/once/memory/index.js';
import type { OnceRecord } from '../../src/once/records.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

/** Processes on one memory, in virtual time. */
export class Shop {
  readonly runtime = new VirtualRuntime();
  readonly state = new MemoryKeys({ runtime: this.runtime });
  /** Each effect that took place, by whom. */
  readonly charges: string[] = [];

  process(id: string, options: OnceOptions = {}) {
    const link = new FaultLink();
    const store = memoryOnce(this.state, { link });
    const once = new Once(store, { runtime: this.runtime, id, ...options });
    const log: string[] = [];
    const names: (keyof OnceEvents)[] = [
      ...(['unknown', 'decided', 'superseded', 'recordedLate', 'unrecorded'] as const),
    ];
    for (const name of names)
      once.on(name, ({ key, attempt }) => void log.push(`${name} ${key} ${attempt}`));
    const charge: Effect<{ receipt: string }> = ({ attempt }) => {
      this.charges.push(`${id}/${attempt}`);
      return { receipt: `${id}-${attempt}` };
    };
    return { once, link, log, charge };
  }

  /** An effect that takes so long, whatever its signal says. */
  slow<Value>(durationMs: number, effect: Effect<Value>): Effect<Value> {
    return async (context) => {
      await new Promise<void>((resolve) => void this.runtime.setTimer(durationMs, resolve));
      return effect(context);
    };
  }

  /** What becomes of a promise, in virtual time. */
  async outcome<Value>(promise: Promise<Value>): Promise<Value | Error> {
    return this.runtime.advanceUntil(promise.catch((error: Error) => error));
  }

  async record(key: string): Promise<OnceRecord | undefined> {
    return memoryOnce(this.state).read(key, { timeoutMs: 1_000 });
  }
}
