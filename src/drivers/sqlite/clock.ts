import { readFileSync } from 'node:fs';
import { StoreMisconfiguredError } from '../../errors/index.js';

/** One reading of the clocks that the file's times are on, in milliseconds. */
export interface SqliteMoment {
  /** The clock that judges deadlines: see {@link SqliteClock.kind}. */
  readonly nowMs: number;
  /** Unix time. */
  readonly wallMs: number;
}

/** The clock that all processes on one file share. */
export interface SqliteClock {
  /**
   * `monotonic`: the kernel's clock since boot, the same for every process of the machine, which nobody can set. `wall`:
   * Unix time, where there is no other that processes share.
   */
  readonly kind: 'monotonic' | 'wall';
  /** Readings compare while this stays the same: it names the boot of the kernel. `wall` for the wall clock. */
  readonly bootId: string;
  now(): SqliteMoment;
}

/** Linux alone says which boot it is in, and tells every process the same monotonic time. */
export const kernelClockKind: SqliteClock['kind'] =
  process.platform === 'linux' ? 'monotonic' : 'wall';

let ofThisProcess: SqliteClock | undefined;

/** The clock of this machine. @throws {StoreMisconfiguredError} on a Linux whose `/proc` cannot be read. */
export function kernelClock(): SqliteClock {
  ofThisProcess ??= kernelClockKind === 'monotonic' ? bootClock() : wallClock;
  return ofThisProcess;
}

const wallClock: SqliteClock = {
  kind: 'wall',
  bootId: 'wall',
  now() {
    const wallMs = Date.now();
    return { nowMs: wallMs, wallMs };
  },
};

function bootClock(): SqliteClock {
  const offsetNs = namespaceOffsetNs();
  return {
    kind: 'monotonic',
    bootId: readBootId(),
    now: () => ({
      nowMs: Number(process.hrtime.bigint() - offsetNs) / 1e6,
      wallMs: Date.now(),
    }),
  };
}

function readBootId(): string {
  const path = '/proc/sys/kernel/random/boot_id';
  try {
    const bootId = readFileSync(path, 'utf8').trim();
    if (/^[0-9a-f-]{36}$/.test(bootId)) return bootId;
  } catch {
    // The same remedy.
  }
  throw new StoreMisconfiguredError(
    `${path} does not say which boot this is, so deadlines in a SQLite file could not be judged. Mount /proc, or use another store.`,
  );
}

/** A container may have a time namespace, whose monotonic clock is set off against that of the machine by a constant. */
function namespaceOffsetNs(): bigint {
  try {
    const text = readFileSync('/proc/self/timens_offsets', 'utf8');
    const [, seconds = '0', nanoseconds = '0'] = /^monotonic\s+(-?\d+)\s+(\d+)/m.exec(text) ?? [];
    return BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds);
  } catch {
    // A kernel without time namespaces.
    return 0n;
  }
}
