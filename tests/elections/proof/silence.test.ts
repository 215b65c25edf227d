import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CandidateProcess } from '../../support/electorate/candidate.js';
import { type Electorate, on } from '../../support/electorate/electorate.js';
import { kernelMs } from '../../support/electorate/parent.mjs';
import { NodeProgram } from '../../support/node-program.js';
import { until } from '../../support/until.js';

/*
 * A store that does not answer, and does not say that it does not. All times are by the kernel's clock, which is one for all
 * processes of the machine.
 */

/** When the store lets the lease of this leader expire, unless it is renewed. */
async function expiryOf(electorate: Electorate, term: number): Promise<number> {
  // Before it is asked, so that it rather comes out too early.
  const askedAtMs = kernelMs();
  const record = await electorate.record();
  if (record?.state !== 'held' || record.term !== term) expect.fail('the leader holds the name');
  return askedAtMs + record.remainingMs;
}

/** The work was told to stop before the store could give the name away, and nobody led before that. */
async function expectEndInTime(
  electorate: Electorate,
  leader: CandidateProcess,
  { term, expiresAtMs }: { readonly term: number; readonly expiresAtMs: number },
): Promise<void> {
  const aborted = await leader.heard('aborted');
  expect(aborted).toMatchObject({ term, state: 'lost' });
  expect(aborted.atMs).toBeLessThan(expiresAtMs);
  const later = await electorate.leaderAfter(term, electorate.running);
  expect(later.term).toBeGreaterThan(term);
  expect(later.atMs).toBeGreaterThan(aborted.atMs);
  expect(leader.story.all('lost')).toEqual([
    expect.objectContaining({ term, reason: 'unreachable' }),
  ]);
  expect(await electorate.violations()).toEqual([]);
}

describe.concurrent('a leader whose store does not answer', { timeout: 60_000 }, () => {
  it(
    'on Redis, behind a network that swallows everything and closes nothing: has given up before the store lets the name go',
    on('Redis', async (electorate) => {
      const { proxy, url } = await electorate.proxy();
      const a = await electorate.standing('a', { url });
      const { term } = await electorate.leaderAfter(0, [a]);
      await electorate.standing('b');
      await electorate.untilWaiting(1);
      proxy.up.swallow();
      proxy.down.swallow();
      const expiresAtMs = await expiryOf(electorate, term);
      await expectEndInTime(electorate, a, { term, expiresAtMs });
    }),
  );

  it(
    'on SQLite, where a process was stopped inside a transaction: has given up before its lease is over; nobody is elected as long as the file is locked, and somebody as soon as that process is gone',
    on('SQLite', async (electorate) => {
      const a = await electorate.standing('a');
      const { term } = await electorate.leaderAfter(0, [a]);
      const b = await electorate.standing('b');
      await electorate.untilWaiting(1);
      const program = join(import.meta.dirname, '../../support/electorate/stuck-writer.mjs');
      const stuck = new NodeProgram([program, electorate.place.url, electorate.namespace]);
      try {
        await stuck.says(/^stopping inside$/);
        const expiresAtMs = await expiryOf(electorate, term);
        await a.heard('aborted');
        await until('nobody', async () => (await electorate.record()) === undefined);
        expect([...a.story.all('elected'), ...b.story.all('elected')]).toHaveLength(1);
        await stuck.kill();
        await expectEndInTime(electorate, a, { term, expiresAtMs });
      } finally {
        await stuck.kill();
      }
    }),
  );
});
