import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { ensureBuilt } from '../../scripts/bootstrap.mjs';
import { NodeProgram } from '../support/node-program.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';

const folder = join(import.meta.dirname, '../../examples/payments');

let database: FreshDatabase;

// The example imports the package by its name, so what runs is what was built.
beforeAll(() => ensureBuilt());

beforeEach(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
});

afterEach(async () => await database.drop());

describe('the nightly settlement', () => {
  it('books every payment once, in one run, while a replica is killed and another frozen', async () => {
    const size = { PAYMENTS: '300', STEP: '5', LEAD_MS: '2500', TTL_MS: '2000' };
    const environment = { DATABASE_URL: database.url, ...size };
    const run = new NodeProgram([join(folder, 'run.mjs')], environment, ['SIGTERM', 'SIGKILL']);
    try {
      expect(await run.ended, run.output).toBe(0);
    } finally {
      await run.kill();
    }
    expect(run.lines.at(-1)).toBe('every payment was booked once, in one run');
    // Both faults hit somebody who was at it.
    expect(run.output).toMatch(/: succeeded in attempt [3-9]/);
    expect(run.output).toMatch(/^\w+ booked \d+, \w+ booked \d+, \w+ booked \d+$/m);
  }, 120_000);

  it('stops in good order', async () => {
    const environment = { DATABASE_URL: database.url };
    const replica = new NodeProgram([join(folder, 'replica.mjs'), 'anna'], environment);
    await replica.says(/anna leads/);
    expect(await replica.stop()).toBe(0);
    expect(replica.lines.slice(-2)).toEqual(['anna leads no more', 'anna has stopped']);
  }, 60_000);
});

describe('its page', () => {
  it('names programs that are there', () => {
    const page = readFileSync(join(folder, 'README.md'), 'utf8');
    const named = [...page.matchAll(/examples\/payments\/(\w+\.mjs)|`(\w+\.mjs)`/g)];
    expect(named.length).toBeGreaterThan(5);
    for (const [, run, listed] of named)
      expect(existsSync(join(folder, run ?? listed ?? '')), run ?? listed).toBe(true);
  });
});
