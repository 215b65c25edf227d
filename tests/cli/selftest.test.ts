import { Redis } from 'ioredis';
import { describe, expect, inject, it } from 'vitest';
import { startRedis } from '../support/servers/index.js';
import { selftest, tenure } from './command-line.js';

interface Report {
  readonly passed: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly passed: boolean;
    readonly figures: readonly string[];
  }[];
}

const names = ['spread', 'exclusion', 'loss', 'order', 'refusal'];

/** Each with the check that guards it, and what that has to find. */
const sabotages = [
  ['hash-by-length', 'spread', ['1 of 256 shards occupied', 'largest bucket 2,000']],
  ['no-nx', 'exclusion', ['A 128, B 256, intersection 128']],
  ['blind-renewal', 'loss', ['A still believes after 2000 ms', 'half-finished items written: 1']],
  ['parallel', 'order', ['handled in order 6']],
  ['no-fence', 'refusal', ['its write: accepted, 1 stale write; last writer A']],
] as const;

async function report(args: readonly string[]): Promise<Report & { status: number | null }> {
  const { status, stdout } = await selftest(['-o', 'json', ...args]);
  return { status, ...(JSON.parse(stdout) as Report) };
}

function failed({ checks }: Report): string[] {
  return checks.filter(({ passed }) => !passed).map(({ name }) => name);
}

describe.concurrent.each([
  ['memory', () => []],
  ['Redis', () => ['--url', inject('redisUrl')]],
])('the selftest on %s', { timeout: 120_000 }, (_store, url) => {
  it('passes all five checks and shows what they saw', async () => {
    const { status, stdout, stderr } = await selftest(url());
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
    expect(stdout.match(/^pass {2}[1-5] /gm)).toHaveLength(5);
    for (const figure of [
      '256 of 256 shards occupied',
      'by their own belief: A 128, B 128, intersection 0, union 256',
      'in the store: A 128, B 128, intersection 0, union 256',
      'half-finished items written: 0',
      'handled in order 1, 2, 3, 4, 5, 6 by',
      'its renewal: refused (superseded)',
      'its write: refused by the fence; last writer B',
    ])
      expect(stdout).toContain(figure);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).not.toContain('\u001b');
  });

  it.each(sabotages)('notices %s by the check of %s alone', async (sabotage, guard, figures) => {
    const result = await report(['--sabotage', sabotage, ...url()]);
    expect(failed(result), JSON.stringify(result.checks)).toEqual([guard]);
    expect(result.status).toBe(1);
    const seen = result.checks.find(({ name }) => name === guard)?.figures.join('; ');
    for (const figure of figures) expect(seen).toContain(figure);
  });

  it('fails every check when every layer is sabotaged', async () => {
    const result = await report(['--sabotage', 'all', ...url()]);
    expect(failed(result)).toEqual(names);
    expect(result.status).toBe(1);
  });
});

describe('the selftest', () => {
  it('leaves nothing behind on the server', { timeout: 30_000 }, async () => {
    const redis = await startRedis();
    const client = new Redis(redis.url);
    try {
      expect((await tenure(['selftest', '--url', redis.url])).status).toBe(0);
      expect(await client.keys('*')).toEqual([]);
    } finally {
      client.disconnect();
      await redis.stop();
    }
  });
});
