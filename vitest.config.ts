import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './tests/support/summary-reporter.js';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/long/**', '**/node_modules/**'],
    globalSetup: ['tests/support/servers/global-setup.ts'],
    reporters: ['default', new SummaryReporter()],
    pool: 'forks',
    // Two cores is what a small runner has, and more would make timing tests lie.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
