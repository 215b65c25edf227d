import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kernelClock } from '../../../src/drivers/sqlite/clock.js';
import { NodeProgram } from '../../support/node-program.js';

const program = join(import.meta.dirname, 'reads-clock.mjs');
/** What a process with a monotonic clock of its own would be off by. */
const offsetSeconds = 86_400;

describe('the clock of a file', { timeout: 60_000 }, () => {
  it('is named after the boot of this machine', () => {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    expect(kernelClock()).toMatchObject({ kind: 'monotonic', bootId });
  });

  it.each([
    ['another process', [program]],
    ['a process in a time namespace of its own', [program, `--set-off=${offsetSeconds}`]],
  ] as const)('is the same for %s', async (_, command) => {
    const clock = kernelClock();
    const before = clock.now().nowMs;
    const child = new NodeProgram(command);
    try {
      const [, bootId, nowMs, monotonicMs] = await child.says(/^(\S+) ([\d.]+) ([\d.]+)$/);
      expect(bootId).toBe(clock.bootId);
      expect(Number(nowMs)).toBeGreaterThan(before);
      expect(Number(nowMs)).toBeLessThan(clock.now().nowMs);
      // Or this would have been tested without a namespace.
      if (command.length > 1)
        expect(Number(monotonicMs)).toBeGreaterThan(before + 1000 * offsetSeconds);
    } finally {
      await child.kill();
    }
  });
});
