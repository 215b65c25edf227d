import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sqliteOnce } from '../../../src/once/sqlite/index.js';
import { startInside } from '../command-inside.js';
import { Effects } from './effects.js';

/** A message as one line, however it was wrapped. */
const unwrapped = (message: string) => message.replace(/\s+/g, ' ');

let folder: string;
let url: string;
let effects: Effects;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-once-'));
  url = `sqlite:${join(folder, 'tenure.db')}`;
  effects = new Effects(sqliteOnce(join(folder, 'tenure.db')));
});
afterEach(async () => {
  await effects.close();
  rmSync(folder, { recursive: true });
});

const why = ['--reason', 'audit', '--by', 'ana'];
const tenureOnce = (...args: string[]) => startInside(['once', ...args, '--url', url]).ended;
const settle = (...args: string[]) => tenureOnce('settle', ...args, ...why);
const keysIn = (stdout: string) =>
  JSON.parse(stdout).effects.map(({ key }: { key: string }) => key);

describe('tenure once list', () => {
  it('says where it has looked if there is none', async () => {
    await effects.done('mail/1');
    await effects.underWay('mail/2');
    const { status, stdout, stderr } = await tenureOnce('list');
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toBe(`no effect of unknown outcome in namespace default\n  at: ${url}\n`);
  });

  it('shows each with since when, who began it, and why it is unknown', async () => {
    await effects.unknown('charge/order-17');
    await effects.unknown('charge/order-18', 'no answer within 5 s');
    const { status, stdout, stderr } = await tenureOnce('list');
    expect(status).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^KEY +UNKNOWN SINCE +ATTEMPT +BEGUN +BY +WHY$/);
    const at = '\\d{4}-\\d\\d-\\d\\dT[\\d:]{8}Z';
    const row = (key: string, words: string) =>
      new RegExp(`^${key} +${at} +1 +${at} +replica-1 +Error: ${words}$`);
    expect(lines[1]).toMatch(row('charge/order-17', 'the line broke'));
    expect(lines[2]).toMatch(row('charge/order-18', 'no answer within 5 s'));
    for (const outcome of ['--done RESULT', '--not-applied'])
      expect(stderr).toContain(`once settle KEY ${outcome} --reason TEXT --url ${url}\n`);
  });

  it('is the same for programs, without a result', async () => {
    await effects.unknown('charge/order-17');
    const { stdout } = await tenureOnce('list', '-o', 'json');
    const time = expect.any(Number);
    expect(JSON.parse(stdout)).toEqual({
      ...{ store: url, namespace: 'default', more: false },
      effects: [
        {
          ...{ key: 'charge/order-17', state: 'unknown', attempt: 1, startedBy: 'replica-1' },
          ...{ startedAtMs: time, deadlineAtMs: time, endedAtMs: time, expiresAtMs: null },
          ...{ detail: 'Error: the line broke', settlements: [] },
        },
      ],
    });
  });

  it('says that there are more than it shows, and not if it shows the last', async () => {
    for (const key of ['a', 'b', 'c']) await effects.unknown(key);
    const two = await tenureOnce('list', '--limit', '2');
    expect(two.stderr).toContain('only the first 2; there are more: settle these, or use --limit');
    expect(two.stdout).not.toMatch(/^c /m);
    expect(
      JSON.parse((await tenureOnce('list', '--limit', '2', '-o', 'json')).stdout),
    ).toMatchObject({ more: true, effects: [{ key: 'a' }, { key: 'b' }] });
    expect((await tenureOnce('list', '--limit', '3')).stderr).not.toContain('there are more');
  });

  it('shows nothing that a terminal would obey', async () => {
    await effects.unknown('mail/\u202egpj.exe', 'a\u200bb');
    const { stdout } = await tenureOnce('list');
    expect(stdout).toContain('mail/\\u202egpj.exe');
    expect(stdout).toContain('a\\u200bb');
  });
});

describe('tenure once settle', () => {
  it('shows what it will do, and does nothing unless somebody agrees', async () => {
    await effects.unknown('charge/order-17');
    const { status, stdout, stderr } = await settle('charge/order-17', '--done', '{"cents": 200}');
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
    const plan = unwrapped(stderr);
    expect(plan).toContain('settle charge/order-17 at: sqlite:');
    expect(plan).toMatch(
      /now: unknown since [\dTZ:-]+: replica-1 began attempt 1 at [\dTZ:-]+; Error: the line broke then:/,
    );
    expect(plan).toContain('then: it is done: whoever calls for it is given {"cents":200}');
    expect(plan).toContain('after 30 d that is forgotten');
    expect(plan).toContain('risk: if the effect did not take place, it never will');
    expect(plan).toContain('why: audit, by ana');
    expect(plan).toContain('pass --yes');
    expect(await effects.once.read('charge/order-17')).toMatchObject({ state: 'unknown' });
  });

  it.each([
    ['with its result', ['{"cents": 200}'], { cents: 200 }],
    ['with a text as its result', ['"receipt-7"'], 'receipt-7'],
    ['with null as its result', ['null'], null],
    ['without a result', [], undefined],
  ])('makes it done %s, for all who call for it', async (_, value, result) => {
    await effects.unknown('mail/1');
    const settled = await settle('mail/1', '--done', ...value, '--yes');
    expect(settled).toMatchObject({
      ...{ status: 0, stdout: 'mail/1 is done: nothing is called for it any more\n' },
    });
    const never = () => Promise.reject(new Error('called'));
    expect(await effects.once.do<unknown>('mail/1', never)).toEqual(result);
    const [settlement] = (await effects.once.read('mail/1'))?.settlements ?? [];
    expect(settlement).toMatchObject({ outcome: 'done', by: 'ana', reason: 'audit', attempt: 1 });
    expect(keysIn((await tenureOnce('list', '-o', 'json')).stdout)).toEqual([]);
  });

  it('frees what was not applied, so that it is called again', async () => {
    await effects.unknown('mail/1');
    const settled = await settle('mail/1', '--not-applied', '--yes');
    const plan = unwrapped(settled.stderr);
    expect(plan).toContain('then: it is free: the next call for it begins attempt 2');
    expect(plan).toContain('risk: if the effect did take place, or attempt 1 is not dead but slow');
    expect(settled).toMatchObject({
      ...{ status: 0, stdout: 'mail/1 is free: the next call for it begins attempt 2\n' },
    });
    expect(await effects.once.do('mail/1', async ({ attempt }) => attempt)).toBe(2);
  });

  it('says for programs what stood there, and what stands there now', async () => {
    await effects.unknown('mail/1');
    const { status, stdout } = await settle('mail/1', '--done', '7', '--yes', '-o', 'json');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ...{ store: url, namespace: 'default', act: 'settle', key: 'mail/1', holds: true },
      before: expect.objectContaining({ key: 'mail/1', state: 'unknown', settlements: [] }),
      after: expect.objectContaining({
        state: 'done',
        settlements: [expect.objectContaining({ by: 'ana', reason: 'audit' })],
      }),
      tookMs: expect.any(Number),
    });
    expect(stdout).not.toContain('"result"');
  });

  it('remembers what is done as long as it is told to', async () => {
    await effects.unknown('mail/1');
    const settled = await settle('mail/1', '--done', '--keep', '400d', '--yes');
    expect(unwrapped(settled.stderr)).toContain('after 400 d that is forgotten');
    const { endedAtMs = 0, expiresAtMs = 0 } = (await effects.once.read('mail/1')) ?? {};
    expect(expiresAtMs - endedAtMs).toBe(400 * 86_400_000);
  });

  it('shows only the beginning of a long result', async () => {
    await effects.unknown('mail/1');
    const { stderr } = await settle('mail/1', '--done', JSON.stringify('x'.repeat(5_000)), '--yes');
    expect(unwrapped(stderr)).toMatch(/is given "x{199}\.\.\. \(5002 bytes\);/);
  });
});

describe('tenure once settle, of a key that is not unknown,', () => {
  it('ends with 1 if nothing is known of it, and says what to look at', async () => {
    const { status, stdout, stderr } = await settle('mail/1', '--done', '--yes');
    expect(status).toBe(1);
    expect(stdout).toBe(
      'mail/1: nothing is known of it; nobody has begun it in this namespace of this store, or it was forgotten\n',
    );
    expect(stderr).toBe(`  next: tenure once list --url ${url}\n`);
  });

  it('ends with 1 while it is under way, and says how long that may be', async () => {
    await effects.underWay('mail/1');
    const { status, stdout } = await settle('mail/1', '--not-applied', '--yes');
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^mail\/1: under way: replica-1 began attempt 1 at .*, and has \d+\.\d s left; it can be settled if/,
    );
  });

  it('ends with 0 if it was settled so before, and with 1 if it was settled otherwise', async () => {
    await effects.unknown('mail/1');
    await settle('mail/1', '--done', '[1, 2]', '--yes');
    const again = await settle('mail/1', '--done', '[1,2]', '--yes');
    expect(again.status).toBe(0);
    expect(again.stdout).toMatch(
      /^mail\/1: done since .*, settled by ana: audit, with this result\n/,
    );
    const other = await settle('mail/1', '--done', '--yes');
    expect(other.status).toBe(1);
    expect(other.stdout).toMatch(/with another result; that is final\n$/);
    const opposite = await settle('mail/1', '--not-applied', '--yes');
    expect(opposite.status).toBe(1);
    expect(opposite.stdout).toMatch(/, settled by ana: audit; that is final\n$/);
  });

  it('ends with 0 if it is free already, and with 1 if it was to be done', async () => {
    await effects.unknown('mail/1');
    await settle('mail/1', '--not-applied', '--yes');
    const again = await settle('mail/1', '--not-applied', '--yes');
    expect(again.status).toBe(0);
    expect(again.stdout).toMatch(
      /^mail\/1: free since .*: attempt 1 had no effect \(settled by ana: audit\); the next call/,
    );
    expect((await settle('mail/1', '--done', '--yes')).status).toBe(1);
  });

  it('tells who had it, if it is done by itself', async () => {
    await effects.done('mail/1', { secret: 'payload' });
    const { status, stdout } = await settle('mail/1', '--done', '--yes');
    expect(status).toBe(1);
    expect(stdout).toContain(', by attempt 1 of replica-1, with another result');
    expect(stdout).not.toContain('payload');
  });
});

describe('what the commands of effects refuse', () => {
  const settling = ['settle', 'mail/1', '--reason', 'audit'];

  it.each([
    [
      ['list', '--url', 'etcd://h'],
      '--url keeps leases, and no effects (got "etcd://h"): for effects, use postgres:',
    ],
    [['list', '--url', 'zookeeper://h'], 'keeps leases, and no effects'],
    [['list', '--url', 'redis+quorum://a,b,c'], 'keeps leases, and no effects'],
    [['list', '--url', 'memory:'], 'is a memory that no other process sees'],
    [['list', '--limit', '0'], '--limit is no count (got "0"): use a whole number from 1 to 1000'],
    [settling, 'neither of --done and --not-applied was given'],
    [[...settling, '--done', '1', '--not-applied'], 'both --done and --not-applied were given'],
    [
      [...settling, '--done', 'receipt-7'],
      '--done is no JSON (got "receipt-7"): write a text with quotes',
    ],
    [
      [...settling, '--done', JSON.stringify('x'.repeat(70_000))],
      '--done cannot be kept: it takes 70002 bytes',
    ],
    [[...settling, '--done', '--keep', '1s'], '--keep is out of range (got "1s"): use 1m to'],
    [[...settling, '--done', '--keep', '3'], '--keep is not a duration'],
    [['settle', 'a\nb', '--done', '--reason', 'audit'], 'KEY is not the key of an effect'],
    [['settle', 'mail/1', '--done', '--reason', 'a\nb'], '--reason does not say'],
  ])('is bad usage: %j', async (args, message) => {
    const { status, stderr } = await startInside(['once', ...args]).ended;
    expect(status).toBe(64);
    expect(unwrapped(stderr)).toContain(message);
  });
});
