import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { playMany, playOne } from '../../src/cli/sim/play.js';
import { RecordingTerminal } from './session.js';

const choice = { model: 'linearizable', scenario: 'election' };
const goOn = new AbortController().signal;

async function withFile(text: string, use: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-sim-'));
  try {
    const file = join(folder, 'faults.json');
    await writeFile(file, text);
    await use(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('tenure sim', { timeout: 60_000 }, () => {
  it('prints the trace of one seed, a line for each event, the same each time', async () => {
    const [one, other] = [new RecordingTerminal(), new RecordingTerminal()];
    expect(await playOne(3, choice, one)).toBe(true);
    expect(await playOne(3, choice, other)).toBe(true);
    expect(one.printed.length).toBeGreaterThan(100);
    for (const line of one.printed) expect(line).toMatch(/^\d+\.\d{3} \S+ \S+ /);
    expect(one.noteText).toContain('Seed 3, model linearizable, scenario election');
    expect(one.noteText).toContain('Nothing was violated.');
    expect(other.printed).toEqual(one.printed);
    expect(other.notes).toEqual(one.notes);
  });

  it('plays many seeds, and prints what they covered', async () => {
    const terminal = new RecordingTerminal();
    expect(await playMany({ from: 1, to: 4 }, choice, terminal, goOn)).toBe(true);
    expect(terminal.answerText).toMatch(/^ +\d+ {2}a lease ended: released, released$/m);
    expect(terminal.noteText).toMatch(/^4 seeds, \d+ simulated minutes, \d+ a second/);
  });

  it.each([12, 16])(
    'tells of no store that is not reached in seed %i, as this process',
    async (seed) => {
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      await playMany({ from: seed, to: seed }, {}, new RecordingTerminal(), goOn);
      expect(warn.mock.calls).toEqual([]);
      warn.mockRestore();
    },
  );

  it('plays a schedule from a file instead of that of the seed', async () => {
    const fault = { kind: 'crash', machine: 'store', atMs: 1_234, forMs: 500 };
    await withFile(JSON.stringify([fault]), async (schedule) => {
      const terminal = new RecordingTerminal();
      await playOne(3, { ...choice, schedule }, terminal);
      const faults = terminal.printed.filter((line) => line.includes(' fault '));
      expect(faults).toEqual(['1234.000 store fault crash forMs=500']);
    });
  });

  it.each([
    ['a schedule that is none', '{}', 'is no list of faults'],
    ['a fault of no kind', '[{"kind":"flood"}]', 'a kind that there is not'],
  ])('refuses %s', async (_what, text, why) => {
    await withFile(text, async (schedule) => {
      const playing = playOne(3, { ...choice, schedule }, new RecordingTerminal());
      await expect(playing).rejects.toThrow(why);
    });
  });

  it('refuses a file that is not there, and a model or scenario that is none', async () => {
    const terminal = new RecordingTerminal();
    const missing = { schedule: '/nowhere/faults.json' };
    await expect(playOne(1, missing, terminal)).rejects.toThrow('cannot be read: ENOENT');
    await expect(playOne(1, { model: 'x' }, terminal)).rejects.toThrow('use one of linearizable');
    await expect(playOne(1, { scenario: 'x' }, terminal)).rejects.toThrow('use one of election');
  });

  it('ends when it is interrupted', async () => {
    const stopping = new AbortController();
    stopping.abort(new Error('enough'));
    const playing = playMany({ from: 1, to: 9 }, {}, new RecordingTerminal(), stopping.signal);
    await expect(playing).rejects.toThrow('enough');
  });
});
