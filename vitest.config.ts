import { join, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { filesUnder, root, say } from './scripts/bootstrap.mjs';
import { leftOut, selectedStores } from './scripts/stores.mjs';
import { HeavyLast } from './tests/support/heavy-last.js';
import { secondTry } from './tests/support/second-try.js';
import { SummaryReporter } from './tests/support/summary-reporter.js';

const tests = join(root, 'tests');
const selected = selectedStores();
const others = leftOut(filesUnder(tests), tests, selected)
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => relative(root, file));
if (others.length > 0)
  say(
    `TENURE_STORES: only ${selected.join(', ')}; ${others.length} test files of others are left out`,
  );

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/long/**', '**/node_modules/**', ...others],
    globalSetup: ['tests/support/servers/global-setup.ts'],
    reporters: ['default', new SummaryReporter()],
    pool: 'forks',
    // Two cores is what a small runner has, and more would make timing tests lie.
    maxWorkers: 2,
    sequence: { sequencer: HeavyLast },
    // Only for what never ends; a limit that is a requirement stands in its test.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: secondTry,
    // What is awaited comes about, however busy the machine is; by default only a second is given.
    expect: { poll: { timeout: 15_000 } },
  },
});
