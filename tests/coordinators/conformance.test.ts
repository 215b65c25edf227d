import { describe, expect, it } from 'vitest';
import type { CoordinatorPromises, TermHazard } from '../../src/coordinators/index.js';
import { memoryPromises } from '../../src/coordinators/memory/promises.js';
import {
  type ConformanceTarget,
  conformanceCases,
  type DemonstratedPromise,
  registerCoordinatorConformance,
  runConformanceCase,
} from '../../src/testing.js';
import { memoryTarget } from './memory-target.js';

/** A missing or superfluous key does not compile, so a new promise cannot be forgotten here. */
const everyPromise: Readonly<Record<DemonstratedPromise, true>> = {
  store: true,
  scope: true,
  exclusion: true,
  expiryClock: true,
  waking: true,
  smallestTtlMs: true,
  largestTtlMs: true,
  'restart-with-data': true,
  'restart-without-data': true,
  'deleted-record': true,
  'lost-replica': true,
} satisfies Record<Exclude<keyof CoordinatorPromises, 'termsSurvive'> | TermHazard, true>;

describe('the list of conformance cases', () => {
  it('names each case once, by theme and requirement', () => {
    const ids = conformanceCases.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z-]+\/[a-z0-9-]+$/);
  });

  it.each(Object.keys(everyPromise))('has a case that demonstrates "%s"', (promise) => {
    const demonstrated = conformanceCases.flatMap(({ demonstrates }) => [...demonstrates]);
    expect(demonstrated).toContain(promise);
  });

  it('runs on memory every case of a promise that memory makes', () => {
    const target = memoryTarget();
    for (const hazard of memoryPromises.termsSurvive) {
      const cases = conformanceCases.filter(({ demonstrates }) => demonstrates.includes(hazard));
      expect(cases.length).toBeGreaterThan(0);
      for (const { needs, exemption } of cases) {
        expect(exemption(memoryPromises)).toBeUndefined();
        for (const need of needs) expect(target.impossible[need]).toBeUndefined();
      }
    }
  });
});

describe('a case that cannot be run', () => {
  it('is reported with the reason when its control was declared impossible', async () => {
    const target = { ...memoryTarget(), impossible: { hang: 'this store cannot be stopped' } };
    const tests = await register(target);
    const hanging = [...tests.keys()].filter((title) => title.includes('hangs/every-operation'));
    expect(hanging).toEqual([
      expect.stringMatching(/^not applicable: .*\(this store cannot be stopped\)$/),
    ]);
    await tests.get(hanging[0] ?? '')?.();
  });

  it('fails when the declaration gives no reason', async () => {
    const tests = await register({ ...memoryTarget(), impossible: { hang: ' ' } });
    const title = [...tests.keys()].find((each) => each.includes('hangs/every-operation'));
    await expect(tests.get(title ?? '')?.()).rejects.toThrow('gives its reason');
  });

  it('fails when the control is neither offered nor declared impossible', async () => {
    const target = memoryTarget();
    const withoutControls: ConformanceTarget = {
      ...target,
      impossible: {},
      create: async () => ({ ...(await target.create()), controls: {} }),
    };
    for (const conformanceCase of conformanceCases.filter(({ needs }) => needs.length > 0)) {
      await expect(runConformanceCase(conformanceCase, withoutControls)).rejects.toThrow(
        /needs the control "\w+": offer it, or declare it impossible/,
      );
    }
  });

  it('is reported with the reason when the store does not promise it', async () => {
    const promises: CoordinatorPromises = { ...memoryPromises, termsSurvive: [] };
    const titles = [...(await register({ ...memoryTarget(), promises })).keys()];
    expect(titles).toContainEqual(
      expect.stringMatching(
        /^not applicable: restarts\/with-data: .*does not promise that terms survive/,
      ),
    );
  });
});

describe('the suite', () => {
  it('registers one test per case under the name of its target', async () => {
    const tests = await register(memoryTarget());
    expect(tests.size).toBe(conformanceCases.length);
  });

  it('closes the subject after a case, whether it passed or failed', async () => {
    const target = memoryTarget();
    let openCount = 0;
    const counting: ConformanceTarget = {
      ...target,
      create: async () => {
        const subject = await target.create();
        openCount += 1;
        return {
          ...subject,
          close: async () => {
            openCount -= 1;
            await subject.close();
          },
        };
      },
    };
    const [first] = conformanceCases;
    if (first === undefined) throw new Error('there are no cases');
    const failing = { ...first, run: () => Promise.reject(new Error('as planned')) };
    await runConformanceCase(first, counting);
    await expect(runConformanceCase(failing, counting)).rejects.toThrow('as planned');
    expect(openCount).toBe(0);
  });
});

/** Collects what the suite registers, without running it. */
async function register(target: ConformanceTarget): Promise<Map<string, () => Promise<void>>> {
  const tests = new Map<string, () => Promise<void>>();
  registerCoordinatorConformance(target, {
    describe: (_title, define) => define(),
    it: (title, run) => tests.set(title, run),
  });
  return tests;
}
