import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.js';
import { check } from '../../../src/cli/schedule/check.js';
import { jobKeys } from '../../../src/cli/schedule/job-entry.js';
import { readJobsFile as readFile } from '../../../src/cli/schedule/jobs-file.js';
import { MistakesError } from '../../../src/cli/schedule/mistakes.js';
import { readPage } from '../../support/page-programs.js';
import { startInside } from '../command-inside.js';
import { RecordingTerminal } from '../session.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-jobs-file-'));
  file = join(folder, 'jobs.yaml');
});
afterEach(() => rmSync(folder, { recursive: true }));

const readJobsFile = (path: string) => readFile(path, new AbortController().signal);
const read = (text: string) => {
  writeFileSync(file, text);
  return readJobsFile(file);
};

/** A file with one job of these lines, the first of which is the third of the file. */
const withJob = (...lines: string[]) =>
  ['jobs:', '  settle:', ...lines.map((line) => `    ${line}`)].join('\n');

const cron = "cron: '0 3 * * *'";

describe('a file of jobs', () => {
  it('says of each job when it is due, what it runs, and what becomes of failures', async () => {
    const [settle, report] = await read(`
jobs:
  settle-payments:
    cron: '*/5 * * * *'
    timeZone: Asia/Tokyo
    command: [node, settle.mjs, --limit, 5, --rate, 1.50]
    misfire: all
    lateAfter: 30s
    catchUp: 2h
    timeout: 4m
    stopGrace: 20s
    retry: { limit: 3, firstPause: 2s, longestPause: 1m }
    resumeLimit: 2
    keepRuns: 50
    env: { LEDGER: main, PORT: 5432, DRY: false }
  report:
    cron: '@daily'
    command: ./report --mail
`);
    expect(settle).toMatchObject({
      name: 'settle-payments',
      command: { words: ['node', 'settle.mjs', '--limit', '5', '--rate', '1.50'] },
      env: { LEDGER: 'main', PORT: '5432', DRY: 'false' },
      stopGraceMs: 20_000,
      options: {
        cron: '*/5 * * * *',
        timeZone: 'Asia/Tokyo',
        misfire: 'all',
        lateAfterMs: 30_000,
        catchUpMs: 7_200_000,
        timeoutMs: 240_000,
        retry: { limit: 3, firstPauseMs: 2_000, longestPauseMs: 60_000 },
        resumeLimit: 2,
        keepRuns: 50,
      },
    });
    expect(report).toMatchObject({
      command: { words: ['./report', '--mail'], isForShell: false },
      stopGraceMs: 10_000,
      options: { cron: '@daily' },
    });
  });

  it('may name a value once and repeat it', async () => {
    const entries = await read(`
jobs:
  a: { cron: &nightly '0 3 * * *', command: [a] }
  b: { cron: *nightly, command: [b] }
`);
    expect(entries.map(({ options }) => options.cron)).toEqual(['0 3 * * *', '0 3 * * *']);
  });

  it('takes names as they are written, not as the numbers that they might be', async () => {
    const names = ['1.10', '007', '0x1F', '1e3', '12345678901234567890', 'true'];
    const jobs = names.map((name) => `  ${name}: { ${cron}, command: [a] }`);
    const entries = await read(['jobs:', ...jobs].join('\n'));
    expect(entries.map(({ name }) => name)).toEqual(names);
  });

  it.each([
    ['', ':1 is not a mapping', 'use jobs'],
    ['jobs:', ':1: jobs is not a mapping', 'write jobs:'],
    ['jobs: {}', ':1: jobs is empty', 'write jobs:'],
    ['jobs: [a]', ':1: jobs is not a mapping', 'write jobs:'],
    [`job:\n  a: { ${cron}, command: x }`, ':1: job is no key here', 'did you mean jobs?'],
    ['jobs:\n  a: {}\n---\njobs: {}', ':3 is not YAML', 'correct this line'],
    ['jobs:\n  a: {}\n  a: {}', ':3 is not YAML (Map keys must be unique)', 'correct'],
    [`jobs:\n  1: {}\n  '1': {}`, ':3: jobs.1 stands there twice', 'another name'],
    [`jobs:\n  'true': {}\n  true: {}`, ':3: jobs.true stands there twice', 'another name'],
    ['jobs:\n\ta: {}', ':2 is not YAML (Tabs are not allowed as indentation)', 'correct'],
    ['jobs:\n  a/b:\n    command: x\n    cron: "@daily"', ':2: jobs.a/b is not the name', 'slash'],
    [withJob('command: x'), ':2: jobs.settle has no cron', 'add one'],
    [withJob(cron), ':2: jobs.settle has no command', 'use a list of words'],
    [withJob('cron: * * * * *', 'command: x'), ':3 is not YAML', "cron: '*/5 * * * *'"],
    [withJob('cron: @daily', 'command: x'), ':3 is not YAML', "in quotes: cron: '@daily'"],
    [withJob(cron, 'command: echo a: b'), ':4 is not YAML', "in quotes: command: 'echo a: b'"],
    [withJob('cron: 5', 'command: x'), ':3: jobs.settle.cron is not a text', 'in quotes'],
    [
      withJob(`cron: '61 * * * *'`, 'command: x'),
      ':3: jobs.settle.cron is not a cron expression (Invalid value for minute: 61)',
      'minute 0 to 59',
    ],
    [
      withJob(cron, 'timeZone: Mars/Phobos', 'command: x'),
      ':4: jobs.settle.timeZone is not a time zone (got "Mars/Phobos")',
      'Europe/Berlin',
    ],
    [withJob(cron, 'command: x', 'misfire: never'), ':5: jobs.settle.misfire is no policy', 'once'],
    [withJob(cron, 'command: x', 'run: x'), ':5: jobs.settle.run is no key here', 'use cron,'],
    [withJob(cron, 'command: x', 'tiemout: 5s'), ':5: jobs.settle.tiemout is no key', 'timeout'],
    [
      withJob(cron, 'command: x', 'timezone: UTC'),
      ':5: jobs.settle.timezone is no key here',
      'did you mean timeZone?',
    ],
    [withJob(cron, 'command: x', 'timeout: 5'), ':5: jobs.settle.timeout is not a duration', '30s'],
    [withJob(cron, 'command: x', 'timeout: 0s'), ':5: jobs.settle.timeout is out of range', '1ms'],
    [withJob(cron, 'command: x', 'catchUp:'), ':5: jobs.settle.catchUp is not a text', '30s'],
    [withJob(cron, 'command: x', 'retry: 3'), ':5: jobs.settle.retry is not a mapping', 'limit'],
    [withJob(cron, 'command: x', 'retry: {}'), ':5: jobs.settle.retry has no limit', 'limit: 3'],
    [
      withJob(cron, 'command: x', 'retry: { limit: 0 }'),
      ':5: jobs.settle.retry limit is out of range (got 0)',
      'whole number from 1 to 1000',
    ],
    [
      withJob(cron, 'command: x', 'keepRuns: many'),
      ':5: jobs.settle.keepRuns is not a number',
      'whole number',
    ],
    [withJob(cron, 'command: []'), ':4: jobs.settle.command names no program', 'use a list'],
    [withJob(cron, "command: ''"), ':4: jobs.settle.command is no command', 'name a program'],
    [withJob(cron, 'command: [a, null]'), ':4: jobs.settle.command.2 is not a text', 'quotes'],
    [withJob(cron, 'command: a | b'), ':4: jobs.settle.command is for a shell', 'add shell: true'],
    [
      withJob(cron, 'command: [a]', 'shell: true'),
      ':4: jobs.settle.command is a list, and shell: true wants a text',
      'as one text',
    ],
    [withJob(cron, 'command: a', 'shell: 1'), ':5: jobs.settle.shell is neither true', 'use one'],
    [
      withJob(cron, 'command: a', 'env:', '  TENURE_URL: x'),
      ':6: jobs.settle.env.TENURE_URL begins with TENURE_',
      'another name',
    ],
    [
      withJob(cron, 'command: a', 'env: { A B: x }'),
      ':5: jobs.settle.env.A B is no name',
      'letters',
    ],
    [
      withJob(cron, String.raw`command: [echo, "x\0y"]`),
      ':4: jobs.settle.command.2 holds a zero byte',
      'leave it out',
    ],
    [
      withJob(cron, String.raw`command: "echo a\0b"`, 'shell: true'),
      ':4: jobs.settle.command holds a zero byte',
      'leave it out',
    ],
    [
      withJob(String.raw`cron: "0 3 * * *\0"`, 'command: a'),
      ':3: jobs.settle.cron holds a zero byte',
      'leave it out',
    ],
    [
      withJob(cron, 'command: a', String.raw`env: { A: "\ud800" }`),
      ':5: jobs.settle.env.A holds half a character',
      'whole',
    ],
    ['jobs:\n  "a\\0b":\n    command: x\n    cron: "@daily"', ':2: jobs.', 'control'],
    [
      withJob(cron, 'command: a', String.raw`env: { "A\0": x }`),
      ':5: jobs.settle.env.A',
      'letters',
    ],
    [
      withJob(cron, 'command: a', 'env: { A: [1] }'),
      ':5: jobs.settle.env.A is not a text',
      'quotes',
    ],
  ])('is refused with file, line and key: %j', async (text, message, remedy) => {
    const error = await read(text).catch((reason: Error) => reason);
    expect(error).toMatchObject({ code: 'TENURE_BAD_OPTION' });
    expect((error as Error).message).toContain(`jobs.yaml${message}`);
    expect((error as Error).message).toContain(remedy);
  });

  it('says all that is wrong with it, in the order of its lines', async () => {
    const error = await read(`jobs:
  settle:
    cron: x
    timeZone: Mars/Phobos
    comand: [node, a.mjs]
    misfire: never
    lateAfter: 5
    retry: { limit: 0, firstPause: 1 }
    stopGrace: soon
  'a/b':
    cron: '0 3 * * *'
    command: a | b
  report:
    command: [node]
    env: { 1x: a, TENURE_X: b, Y: [] }
    keepRuns: 0
    resumeLimit: -1
  good: { cron: '0 3 * * *', command: [node] }
more: 1
`).catch((reason: Error) => reason);
    expect(error).toBeInstanceOf(MistakesError);
    const { errors } = error as MistakesError;
    expect(errors.map(({ option }) => option.replace(/^.*jobs\.yaml:/, ''))).toEqual([
      '3: jobs.settle.cron',
      '4: jobs.settle.timeZone',
      '5: jobs.settle.comand',
      '6: jobs.settle.misfire',
      '7: jobs.settle.lateAfter',
      '8: jobs.settle.retry.firstPause',
      '8: jobs.settle.retry',
      '9: jobs.settle.stopGrace',
      '10: jobs.a/b',
      '12: jobs.a/b.command',
      '13: jobs.report',
      '15: jobs.report.env.1x',
      '15: jobs.report.env.TENURE_X',
      '15: jobs.report.env.Y',
      '16: jobs.report.keepRuns',
      '17: jobs.report.resumeLimit',
      '19: more',
    ]);
    expect((error as Error).message.split('\n')).toHaveLength(errors.length);
  });

  it('says of a text that is no YAML each line that is none', async () => {
    const text = 'jobs:\n  a: {}\n  a: {}\n  b: {}\n  b: {}\n';
    const error = (await read(text).catch((reason: Error) => reason)) as Error;
    expect(error.message).toMatch(/jobs\.yaml:3 is not YAML .*\n.*jobs\.yaml:5 is not YAML/);
  });

  it('never shows the value of a variable, which may be a secret', async () => {
    const texts = [
      withJob(cron, 'command: a', 'env: { PASSWORD: [hunter2] }'),
      withJob(cron, 'command: a', 'env: { PASSWORD: hunter2: x }'),
      withJob(cron, 'command: a', 'env: { PASSWORD: "hunter2 }'),
    ];
    for (const text of texts) {
      const error = (await read(text).catch((reason: Error) => reason)) as Error;
      expect(error.message).toContain('jobs.yaml:');
      expect(error.message).not.toContain('hunter2');
    }
  });

  it('is told from one that cannot be read', async () => {
    await expect(readJobsFile(join(folder, 'none'))).rejects.toThrow(
      '--file cannot be read: ENOENT',
    );
    await expect(readJobsFile(folder)).rejects.toThrow('--file cannot be read: EISDIR');
  });
});

describe('what is written about the file', () => {
  const page = readPage('cli.md');

  it('is an example that is good, on the page and in the help', async () => {
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(page) ?? [];
    expect((await read(example)).map(({ name }) => name)).toEqual([
      'settle-payments',
      'mail-report',
    ]);
    const [, shown = ''] = /The file is YAML:\n\n(.*?)\n\nand/s.exec(helpOf('schedule')) ?? [];
    expect((await read(shown.replace(/^ {2}/gm, '')))[0]?.name).toBe('settle-payments');
  });

  it('names every key', () => {
    const keys = jobKeys.filter((key) => !new RegExp(`^\\| .*\`${key}\`.* \\|`, 'm').test(page));
    expect(keys).toEqual([]);
    for (const key of jobKeys) expect(helpOf('schedule')).toMatch(new RegExp(`\\b${key}\\b`));
  });
});

/** All of it, with what stands below the options. */
function helpOf(name: string): string {
  const lines: string[] = [];
  const program = createProgram(new RecordingTerminal(), async () => {});
  const command = program.commands.find((one) => one.name() === name);
  command?.configureOutput({ writeOut: (text) => lines.push(text) });
  command?.outputHelp();
  return lines.join('');
}

describe('tenure schedule --check', () => {
  it('prints the next three ticks of each job, with what the clocks show there', async () => {
    const entries = await read(`
jobs:
  settle: { cron: '30 2 * * *', timeZone: Europe/Berlin, command: [node, a b.mjs] }
  report: { cron: '0 3 * * *', command: 'a | b', shell: true }
`);
    const terminal = new RecordingTerminal();
    check(terminal, file, entries, Date.UTC(2026, 9, 23, 12), 'text', new Map());
    expect(terminal.printed).toEqual([
      'JOB     CRON        TIME ZONE      NEXT TICKS            THERE                    COMMAND',
      "settle  30 2 * * *  Europe/Berlin  2026-10-24T00:30:00Z  Sat 2026-10-24 02:30:00  node 'a b.mjs'",
      '                                   2026-10-25T00:30:00Z  Sun 2026-10-25 02:30:00',
      '                                   2026-10-26T01:30:00Z  Mon 2026-10-26 02:30:00',
      'report  0 3 * * *   UTC            2026-10-24T03:00:00Z                           a | b',
      '                                   2026-10-25T03:00:00Z',
      '                                   2026-10-26T03:00:00Z',
    ]);
  });

  it('is the same for programs, and connects nowhere', async () => {
    writeFileSync(file, withJob(cron, 'command: [nobody-has-this]'));
    const args = ['schedule', file, '--check', '-o', 'json', '--url', 'redis://127.0.0.1:1'];
    const { status, stdout } = await startInside(args).ended;
    expect(status).toBe(0);
    const [job] = JSON.parse(stdout).jobs;
    expect(job).toMatchObject({ job: 'settle', timeZone: 'UTC', command: ['nobody-has-this'] });
    expect(job.ticksAtMs).toHaveLength(3);
  });

  it('warns of a command that this machine does not have, with its line: other machines may run the file', async () => {
    writeFileSync(file, withJob(cron, 'command: [nobody-has-this]'));
    const place = `${file}:4: jobs.settle.command: cannot run "nobody-has-this": it is in no folder`;
    const { status, stdout, stderr } = await startInside(['schedule', file, '--check']).ended;
    expect(status).toBe(0);
    expect(stdout).toMatch(/^settle +0 3/m);
    expect(stderr.replace(/\s+/g, ' ')).toContain(`tenure schedule: warning: ${place}`);
    const forPrograms = await startInside(['schedule', file, '--check', '-o', 'json']).ended;
    expect(JSON.parse(forPrograms.stdout).jobs[0].problem).toContain(place);
  });

  it('says nothing of commands that are there', async () => {
    writeFileSync(file, withJob(cron, 'command: [cat]'));
    const { stdout, stderr } = await startInside(['schedule', file, '--check', '-o', 'json']).ended;
    expect(JSON.parse(stdout).jobs[0].problem).toBeNull();
    expect(stderr).toBe('');
  });
});

describe('tenure schedule', () => {
  const schedule = (...args: string[]) => startInside(['schedule', '-f', file, ...args]).ended;

  it.each([
    [[], 'jobs.yaml:3: jobs.settle.cron is not a cron', 64, 'cron: x'],
    [['--url', 'etcd://h'], 'keeps leases, and no jobs', 64, cron],
    [['--url', 'memory:'], 'is a memory that no other process sees', 64, cron],
    [['--drain', '5'], '--drain is not a duration', 64, cron],
    [['--name', 'a//b'], '--name is no name of a schedule', 64, cron],
    [['--ttl', '1ms'], '--ttl', 64, cron],
  ])('refuses %j', async (args, message, expected, line) => {
    writeFileSync(file, withJob(line, 'command: [cat]'));
    const url = args.includes('--url') ? [] : ['--url', `sqlite:${join(folder, 'tenure.db')}`];
    const { status, stderr } = await schedule(...args, ...url);
    expect(stderr.replace(/\n(tenure schedule: +)?/g, ' ')).toContain(message);
    expect(status).toBe(expected);
  });

  it.each([[[]], [['--check']]])(
    'says all that is wrong with the file, and how to check it again: %j',
    async (flags) => {
      writeFileSync(file, withJob('cron: x', 'command: [cat]', 'misfire: never'));
      const { status, stderr } = await schedule(...flags);
      expect(status).toBe(64);
      const said = stderr.replace(/\n(tenure schedule: +)?/g, ' ');
      expect(said).toMatch(/:3: jobs\.settle\.cron is .*:5: jobs\.settle\.misfire is /);
      expect(said.replace(/\s+/g, ' ')).toContain('--check, when it is corrected');
    },
  );

  it('tells each command that is not there before anything begins, with its line', async () => {
    const other = `  other: { ${cron}, command: [./nor-this] }`;
    writeFileSync(file, `${withJob(cron, 'command: [nobody-has-this]')}\n${other}`);
    const { status, stderr } = await schedule('--url', `sqlite:${join(folder, 'tenure.db')}`);
    expect(status).toBe(127);
    const said = stderr.replace(/\s+/g, ' ');
    expect(said).toContain(`${file}:4: jobs.settle.command: cannot run "nobody-has-this"`);
    expect(said).toContain(`${file}:5: jobs.other.command: cannot run "./nor-this"`);
    expect(said).toContain('next: command -v ./nor-this');
  });
});
