import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { LeasesOptions } from '../../../src/index.js';
import { type Electorate, on } from '../../support/electorate/electorate.js';
import { kernelMs } from '../../support/electorate/parent.mjs';
import { placeNames } from '../../support/electorate/places.js';

/**
 * All of them refresh their places in the queue three times in it, one after the other in a file. In memory, where that can
 * be had: how quick the disk is, is not what this is about.
 */
const ttlMs = { Redis: 3_000, SQLite: 9_000 };
const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const roundCount = { Redis: 3, SQLite: 2 };
const crowdCount = 5;
const crowdSize = 40;

// How many requests that takes is counted elsewhere, in virtual time.
describe.concurrent.each(placeNames)('200 candidates in a few processes on %s', (place) => {
  const leases = { ttlMs: ttlMs[place], attemptTimeoutMs: ttlMs[place] / 8 };
  /**
   * From a death to the next leader, at worst: the whole ttl; a third of it until somebody sees that everybody before it in
   * the queue is dead; and what two hundred candidates and a busy machine add.
   */
  const takeoverMs = leases.ttlMs * (1 + 1 / 3) + 3_000;

  it(
    'have a leader again in time, whoever of them is killed: a fifth of those who wait, and then the leader, again and again',
    on(
      place,
      async (electorate) => {
        const first = await electorate.standing('first', { leases });
        let { term } = await electorate.leaderAfter(0, [first]);
        const crowds = await crowdsOf(electorate, leases);

        // Those who have waited longest: at the head of the queue are only dead ones for a while.
        await crowds[0]?.kill();
        let leader = first;
        for (let round = 0; round < roundCount[place]; round++) {
          const killedAtMs = kernelMs();
          await leader.kill();
          const next = await electorate.leaderAfter(term, electorate.running);
          expect(next.term).toBeGreaterThan(term);
          expect(next.atMs - killedAtMs, `in round ${round}`).toBeLessThan(takeoverMs);
          ({ term, process: leader } = next);
        }
        expect(await electorate.violations()).toEqual([]);
      },
      { limitMs: 85_000, folder },
    ),
    90_000,
  );
});

/** One after the other, so that they stand in the queue in this order. */
async function crowdsOf(electorate: Electorate, leases: LeasesOptions) {
  const settings = { leases, count: crowdSize, connectionCount: 2 };
  const crowds = Array.from({ length: crowdCount }, (_, index) =>
    electorate.crowd(`crowd-${index}`, settings),
  );
  for (const [index, crowd] of crowds.entries()) {
    await crowd.lead();
    // Some may be late with a refresh on a busy machine.
    await electorate.untilWaiting((index + 1) * crowdSize * 0.9);
  }
  return crowds;
}
