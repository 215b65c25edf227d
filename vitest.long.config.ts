import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './tests/support/summary-reporter.js';

/** Chaos, soak and simulation: what takes minutes. One file at a time, the machine to itself. */
export default defineConfig({
  test: {
    include: ['tests/long/**/*.test.ts'],
    globalSetup: ['tests/support/servers/global-setup.ts'],
    reporters: ['verbose', new SummaryReporter()],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 15 * 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
