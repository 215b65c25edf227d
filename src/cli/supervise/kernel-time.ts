import type { Instant } from '../../time/index.js';

/**
 * A moment on two clocks that all processes of one machine share, in milliseconds since boot, so that one process can
 * tell another until when. `monotonicMs` is exact and stops while the machine is suspended; `uptimeMs` does not stop, and
 * has a resolution of 10 ms.
 */
export interface KernelTime {
  readonly monotonicMs: number;
  readonly uptimeMs: number;
}

/** A runtime's monotonic clock begins with its process; this is where, on the kernel's. */
const processBeganAtMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export function kernelTimeOf({ monotonicMs, uptimeMs }: Instant): KernelTime {
  return { monotonicMs: processBeganAtMs + monotonicMs, uptimeMs };
}

/** What is left of the time until then: by the clock that says less, as after a suspend. Negative when it is past. */
export function leftMs(until: KernelTime, now: KernelTime): number {
  return Math.min(until.monotonicMs - now.monotonicMs, until.uptimeMs - now.uptimeMs);
}

export function later({ monotonicMs, uptimeMs }: KernelTime, byMs: number): KernelTime {
  return { monotonicMs: monotonicMs + byMs, uptimeMs: uptimeMs + byMs };
}

export function earliest(one: KernelTime, other: KernelTime): KernelTime {
  return leftMs(one, other) < 0 ? one : other;
}
