import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SteppableClock } from '../../support/clock-shim/steppable-clock.js';
import type { CandidateProcess } from '../../support/electorate/candidate.js';
import {
  type Electorate,
  on,
  onOwnRedis,
  takeoverMs,
  ttlMs,
} from '../../support/electorate/electorate.js';
import { kernelMs } from '../../support/electorate/parent.mjs';
import { placeNames } from '../../support/electorate/places.js';
import { until } from '../../support/until.js';

const hourMs = 60 * 60 * 1000;
/** A clock of their own for processes, which is gone after the play. */
async function withClock(play: (clock: SteppableClock) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-clock-'));
  const clock = new SteppableClock(folder);
  try {
    await play(clock);
  } finally {
    clock.close();
    rmSync(folder, { recursive: true });
  }
}

async function ledByTwo(electorate: Electorate, environment?: SteppableClock['environment']) {
  const options = environment && { environment };
  const a = await electorate.standing('a', options);
  const { term } = await electorate.leaderAfter(0, [a]);
  const b = await electorate.standing('b', options);
  await electorate.untilWaiting(1);
  return { a, b, term };
}

/** It doubts its lease for a moment, and leads on. */
async function expectDoubt(leader: CandidateProcess, term: number, step: () => void) {
  const steppedAtMs = kernelMs();
  step();
  const { atMs } = await leader.heard(
    'uncertain',
    (told) => told.atMs > steppedAtMs && told.cause === 'clock-stepped',
  );
  expect((await leader.heard('recovered', (told) => told.atMs > atMs)).term).toBe(term);
  expect(await leader.state()).toMatchObject({ state: 'held', term });
}

describe.concurrent.each(placeNames)(
  'a wall clock that is set by an hour under the candidates on %s',
  { timeout: 60_000 },
  (place) => {
    it(
      'forward and back: the leader makes sure of its lease and keeps its term; a dead leader is succeeded in time, and not before',
      on(place, (electorate) =>
        withClock(async (clock) => {
          const { a, b, term } = await ledByTwo(electorate, clock.environment);
          for (const stepMs of [hourMs, -hourMs, -hourMs])
            await expectDoubt(a, term, () => clock.step(stepMs));
          expect(a.story.all('lost')).toEqual([]);
          const askedAtMs = kernelMs();
          const record = await electorate.record();
          if (record?.state !== 'held' || record.term !== term) expect.fail('it leads');
          // A renewal that it sent before it was killed may still extend the lease; nothing shortens it.
          const heldUntilMs = askedAtMs + record.remainingMs - 2;
          await a.kill();
          const killedAtMs = kernelMs();
          clock.step(hourMs);
          const next = await electorate.leaderAfter(term, [b]);
          expect(next.term).toBeGreaterThan(term);
          expect(next.atMs).toBeGreaterThan(heldUntilMs);
          expect(next.atMs - killedAtMs).toBeLessThan(takeoverMs);
          expect(await electorate.violationsBesidesTimes()).toEqual([]);
        }),
      ),
    );
  },
);

describe.concurrent('the wall clock of the Redis server, by which leases end there (on SQLite there is no other clock than those above)', {
  timeout: 60_000,
}, () => {
  it(
    'set forward by an hour: the leader learns that its lease is gone, and the next term is higher',
    onOwnRedis({ clock: true }, async (electorate, server) => {
      const { a, b, term } = await ledByTwo(electorate);
      server.stepClock(hourMs);
      expect((await a.heard('lost')).reason).toMatch(/^(vanished|superseded)$/);
      const next = await electorate.leaderAfter(term, [a, b]);
      expect(next.term).toBeGreaterThan(term);
      expect(await electorate.violationsBesidesTimes()).toEqual([]);
    }),
  );

  it(
    'set back by an hour: a leader that lives keeps its term; the name of one that is dead is not blocked for an hour',
    onOwnRedis({ clock: true }, async (electorate, server) => {
      const { a, b, term } = await ledByTwo(electorate);
      server.stepClock(-hourMs);
      // An end that is too far away counts as a whole ttl; a renewal puts it where it belongs.
      await until('a renewal of a whole ttl', async () => {
        const record = await electorate.record();
        if (record?.state !== 'held') expect.fail('it leads');
        return record.term === term && record.remainingMs < ttlMs - 50;
      });
      expect(a.story.all('lost')).toEqual([]);
      await a.kill();
      server.stepClock(-hourMs);
      const steppedAtMs = kernelMs();
      const next = await electorate.leaderAfter(term, [b]);
      expect(next.term).toBeGreaterThan(term);
      expect(next.atMs - steppedAtMs).toBeLessThan(takeoverMs);
      expect(await electorate.violationsBesidesTimes()).toEqual([]);
    }),
  );
});
