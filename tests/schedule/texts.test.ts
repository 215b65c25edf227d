import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecordCorruptError } from '../../src/errors/index.js';
import type { RunCancellation } from '../../src/schedule/contract.js';
import type { JobPause, JobRecord, RunRecord, RunRequest } from '../../src/schedule/index.js';
import {
  decodeCancellation,
  decodeJob,
  decodeOpenRun,
  decodePause,
  decodeRequest,
  decodeRun,
} from '../../src/schedule/rules/texts.js';

const nowMs = Date.UTC(2026, 0, 1);
const act = { by: 'ana', reason: 'INC-12' };

/** Each field that there is. */
const whole: {
  job: Required<JobRecord>;
  run: Required<RunRecord>;
  pause: Required<JobPause>;
  request: Required<RunRequest>;
  cancellation: Required<RunCancellation>;
} = {
  job: {
    ...{ job: 'settle', cron: '* * * * *', timeZone: 'UTC', election: 'schedule', term: nowMs },
    ...{ holderDigest: 'a'.repeat(32), holderId: 'replica-1', consideredToMs: nowMs },
    ...{ changedAtMs: nowMs, formerCron: '@daily', formerTimeZone: 'UTC', aheadToMs: nowMs },
  },
  run: {
    ...{
      id: 'settle!1',
      job: 'settle',
      kind: 'tick',
      tickMs: nowMs,
      state: 'waiting',
      term: nowMs,
    },
    ...{ holderId: 'replica-1', attempt: 1, failureCount: 0, interruptionCount: 0 },
    ...{ beganAtMs: nowMs, endedAtMs: nowMs, retryAtMs: nowMs, progress: '{"next":1}' },
    ...{ detail: 'it threw', by: 'ana', skippedBeforeMs: nowMs, skippedCount: 3 },
  },
  pause: { ...act, atMs: nowMs },
  request: { id: 'settle!1', job: 'settle', atMs: nowMs, ...act },
  cancellation: { runId: 'settle!1', ...act },
};

const decoders = {
  job: (text: string) => decodeJob(text, 'settle', nowMs),
  run: (text: string) => decodeRun(text, 'settle', 'settle!1'),
  pause: decodePause,
  request: (text: string) => decodeRequest(text, 'settle', 'settle!1'),
  cancellation: decodeCancellation,
};

type What = keyof typeof whole;
const kinds = Object.keys(whole) as What[];

/** JSON, since not all of it can be said in a value. */
const noNumbers = [
  'null',
  '"5"',
  'true',
  '[]',
  '{}',
  '1.5',
  '-1',
  '1e400',
  '8.65e15',
  '9007199254740993',
];
const noTexts = ['null', '5', 'true', '[]', '{}', JSON.stringify('x'.repeat(70_000))];
/** Beside those of its type. */
const hostile: Partial<Record<string, string[]>> = {
  ...{ consideredToMs: ['8.64e15'], tickMs: ['8.64e15'], retryAtMs: ['1e18'], beganAtMs: ['1e15'] },
  ...{ attempt: ['2147483647'], failureCount: ['2147483647'], skippedCount: ['1e15'] },
  ...{ kind: ['""', '"TICK"'], state: ['""', '"flying"', '"constructor"'] },
  ...{ job: ['""', '"other"', '"a/b"'], election: ['""', '"a//b"', '"."'], id: ['""', '"x\\n"'] },
  ...{ holderDigest: ['""', '"F"', '"NaN"'], holderId: ['" "', '"a:b"'], runId: ['""'] },
  ...{ progress: ['"{nojson"', '""'] },
};

function withField(what: What, key: string, json: string): string {
  const rest = Object.entries(whole[what]).filter(([name]) => name !== key);
  const fields = rest.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{${[...fields, `${JSON.stringify(key)}:${json}`].join(',')}}`;
}

const fields = kinds.flatMap((what) =>
  Object.entries(whole[what]).map(([key, value]) => ({ what, key, value })),
);

describe('a stored record', () => {
  it.each(kinds)('is read as it was written: a %s', (what) => {
    expect(decoders[what](JSON.stringify(whole[what]))).toEqual(whole[what]);
  });

  it.each(fields)('is not worked with if no leader wrote its field: $what.$key', (field) => {
    const { what, key, value } = field;
    const values = [...(typeof value === 'number' ? noNumbers : noTexts), ...(hostile[key] ?? [])];
    for (const json of values)
      expect(() => decoders[what](withField(what, key, json)), json).toThrow(RecordCorruptError);
  });

  it('may have a term of any store, and none that no store has granted yet', () => {
    const termed = (term: number) => decoders.job(withField('job', 'term', String(term)));
    for (const term of [1, nowMs, nowMs * 64]) expect(termed(term).term).toBe(term);
    for (const term of [0, 8.64e15, Number.MAX_SAFE_INTEGER])
      expect(() => termed(term), String(term)).toThrow(RecordCorruptError);
  });

  it('is that of the run under whose id it stands, and has not ended if it stands for one that has not', () => {
    const ended = JSON.stringify({ ...whole.run, state: 'succeeded' });
    expect(() => decodeOpenRun(ended, 'settle')).toThrow(RecordCorruptError);
    const text = JSON.stringify(whole.run);
    expect(decodeOpenRun(text, 'settle', 'settle!1').state).toBe('waiting');
    expect(() => decodeOpenRun(text, 'settle', 'settle!2')).toThrow(RecordCorruptError);
  });

  it('that is anything else is told by the typed error', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.oneof(fc.json(), fc.string()), (what, text) => {
        expect(() => decoders[what](text)).toThrow(RecordCorruptError);
      }),
      { seed: 5 },
    );
  });
});
