import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, root } from '../../scripts/bootstrap.mjs';

const file = join(root, 'examples/testing/bookkeeper.test.mjs');

// The example imports the package by its name, so what runs is what was built.
beforeAll(() => ensureBuilt());

/** The exit status of the example under node:test, and what it said. */
function run(environment: Record<string, string>): Promise<{ status: number; output: string }> {
  const { NODE_TEST_CONTEXT: _, ...env } = { ...process.env, ...environment };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--test', '--test-reporter=tap', file],
      { env, timeout: 60_000 },
      (_error, stdout, stderr) =>
        resolve({ status: child.exitCode ?? -1, output: `${stdout}${stderr}` }),
    );
  });
}

describe('the example of a test', () => {
  it('passes with a fence', async () => {
    const { status, output } = await run({});
    expect(output).toMatch(/^# pass 1$/m);
    expect(status).toBe(0);
  }, 90_000);

  it('shows the stale write without one', async () => {
    const { status, output } = await run({ FENCE: 'no' });
    expect(output).toMatch(
      /the stale write was applied: the total is 120, and what bob booked is gone/,
    );
    expect(output).toMatch(/^# fail 1$/m);
    expect(status).toBe(1);
  }, 90_000);
});
