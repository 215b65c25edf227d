import { describe, expect, it } from 'vitest';
import { inTime } from '../../src/cli/completion/command.js';
import { type Lookup, suggest } from '../../src/cli/completion/suggest.js';
import { createProgram } from '../../src/cli/program.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { RecordingTerminal } from './session.js';

describe('the time that a suggestion may take', () => {
  it('is up when the store does not answer', async () => {
    const runtime = new VirtualRuntime();
    const never = new Promise<string>(() => {});
    expect(await runtime.advanceUntil(inTime(runtime, 1_000, never), 2_000)).toBeUndefined();
    expect(runtime.now().monotonicMs).toBe(1_000);
  });

  it('is not waited for once the answer is there, or there will be none', async () => {
    const runtime = new VirtualRuntime();
    expect(await inTime(runtime, 1_000, Promise.resolve('x'))).toBe('x');
    expect(await inTime(runtime, 1_000, Promise.reject(new Error('no')))).toBeUndefined();
  });
});

const program = createProgram(new RecordingTerminal(), async () => {});
const asked: unknown[] = [];
const lookup: Lookup = {
  async names(beginning, flags) {
    asked.push({ beginning, ...flags });
    return ['payments', 'pay/rolls', 'reports'];
  },
  async candidates(name, flags) {
    asked.push({ name, ...flags });
    return ['replica-1', 'replica-2'];
  },
  async jobs(flags) {
    asked.push({ jobs: true, ...flags });
    return ['settle', 'report'];
  },
  async keys(flags) {
    asked.push({ keys: true, ...flags });
    return ['charge/order-17', 'mail/7'];
  },
};

async function words(...line: string[]): Promise<string[]> {
  const { words: found } = await suggest(program, line, lookup);
  return found.map(({ word }) => word);
}

describe('what a shell may offer', () => {
  it('is every command that the help shows, and no hidden one', async () => {
    const found = await words('');
    expect(found).toEqual(expect.arrayContaining(['who', 'status', 'suspend', 'demo', 'help']));
    expect(found).not.toContain('complete');
    expect(await words('s')).toEqual(['schedule', 'status', 'suspend', 'selftest', 'sim']);
  });

  it('is every option of the command, with what it means', async () => {
    expect(await words('handoff', '--r')).toEqual(['--reserve', '--reason']);
    expect(await words('who', 'x', '--n')).toEqual(['--namespace']);
    expect(await words('-')).toEqual(['--version', '--help']);
    const { words: found } = await suggest(program, ['who', '--conf'], lookup);
    expect(found).toEqual([{ word: '--config', meaning: 'read settings from this JSON file' }]);
  });

  it('is what can be done to jobs, and the jobs of the store', async () => {
    expect(await words('jobs', '')).toEqual(expect.arrayContaining(['list', 'pause', 'cancel']));
    expect(await words('jobs', 'pause', '')).toEqual(['settle', 'report']);
    expect(await words('jobs', 'cancel', 'settle', '')).toEqual([]);
    expect(await words('schedule', '--sp')).toEqual(['--spread']);
  });

  it('is what can be done to effects, and the keys of unknown outcome', async () => {
    expect(await words('once', '')).toEqual(['list', 'settle', 'help']);
    expect(await words('once', 'settle', '')).toEqual(['charge/order-17', 'mail/7']);
    expect(await words('once', 'settle', 'mail/7', '--d')).toEqual(['--done']);
  });

  it('is an option or an argument after one whose value was left out', async () => {
    asked.length = 0;
    expect(await words('once', 'settle', '--done', '--not')).toEqual(['--not-applied']);
    expect(await words('once', 'settle', '--done', '--url', 'redis://h', 'm')).toEqual(['mail/7']);
    expect(asked).toEqual([{ keys: true, url: 'redis://h' }]);
    expect(await words('once', 'settle', '--done', 'm')).toEqual([]);
  });

  it('is a choice of an option, in both of its forms', async () => {
    expect(await words('status', '-o', '')).toEqual(['text', 'wide', 'json']);
    expect(await words('status', '--output', 'w')).toEqual(['wide']);
    expect(await words('status', '--output=w')).toEqual(['--output=wide']);
    expect(await words('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  it('is a name from the store that the settings name', async () => {
    asked.length = 0;
    expect(await words('who', '--url', 'redis://h', '--namespace=n', 'pay')).toEqual([
      'payments',
      'pay/rolls',
    ]);
    expect(await words('status', 'payments', 'r')).toEqual(['reports']);
    expect(asked).toEqual([
      { beginning: 'pay', url: 'redis://h', namespace: 'n' },
      { beginning: 'r' },
    ]);
  });

  it('is a name for what a command is run for, and files for that command', async () => {
    expect(await words('run', '--election', 'rep')).toEqual(['reports']);
    expect(await words('run', '--election=rep')).toEqual(['--election=reports']);
    const foreign = await suggest(program, ['run', '--election', 'reports', '--', 'no'], lookup);
    expect(foreign).toEqual({ words: [], files: true });
  });

  it('is a candidate of the name for the successor', async () => {
    asked.length = 0;
    expect(await words('handoff', 'payments', '--yes', '--to', '')).toEqual([
      'replica-1',
      'replica-2',
    ]);
    expect(asked).toEqual([{ name: 'payments' }]);
    expect(await words('handoff', '--to', '')).toEqual([]);
  });

  it('is files for a file, and for what belongs to another program', async () => {
    expect(await suggest(program, ['who', '--config', ''], lookup)).toEqual({
      words: [],
      files: true,
    });
    expect(await suggest(program, ['who', '--', ''], lookup)).toEqual({ words: [], files: true });
  });

  it.each([
    [['who', 'a', '']],
    [['who', '--namespace', '']],
    [['nothing', 'x', '']],
    [['who', '--nothing=']],
    [['demo', '']],
  ])('is nothing after %j', async (line) => {
    expect(await suggest(program, line, lookup)).toEqual({ words: [], files: false });
  });
});
