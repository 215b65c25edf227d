import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childEnvironment } from '../../../src/cli/supervise/environment.js';
import { findProgram } from '../../../src/cli/supervise/find-program.js';
import { parseCommandLine, resolveCommand } from '../../../src/cli/supervise/plan.js';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-run-'));
  for (const name of ['a', 'b']) mkdirSync(join(folder, name));
  for (const name of ['a/fit', 'b/fit', 'b/text', 'a/later']) {
    writeFileSync(join(folder, name), '#!/bin/sh\n');
    chmodSync(join(folder, name), name === 'b/text' || name === 'a/later' ? 0o644 : 0o755);
  }
  writeFileSync(join(folder, 'b/later'), '#!/bin/sh\n', { mode: 0o755 });
});
afterAll(() => rmSync(folder, { recursive: true }));

const path = () => `${join(folder, 'a')}:${join(folder, 'nowhere')}:${join(folder, 'b')}`;

describe('the program that is run', () => {
  it('is the first in the PATH that can be', () => {
    expect(findProgram('fit', path())).toBe(join(folder, 'a/fit'));
    expect(findProgram('later', path())).toBe(join(folder, 'b/later'));
  });

  it('is the file itself if it is written with a slash', () => {
    const file = join(folder, 'b/fit');
    expect(findProgram(file, undefined)).toBe(file);
  });

  it.each([
    ['a name that is nowhere', () => 'nothing', 127],
    ['an empty name', () => '', 127],
    ['a path that leads nowhere', () => join(folder, 'x/y'), 127],
    ['a path through a file', () => join(folder, 'a/fit/x'), 127],
    ['a file that may not be run', () => join(folder, 'b/text'), 126],
    ['a folder', () => join(folder, 'a'), 126],
    ['a name whose only file may not be run', () => 'text', 126],
  ])('is refused with the status of a shell: %s', (_what, program, status) => {
    expect(() => findProgram(program(), path())).toThrow(expect.objectContaining({ status }));
  });

  it.each(['echo hi there | cat', 'true&&false', '/bin/echo hi'])(
    'is no whole command line, which is told to divide its words or to ask for a shell: %s',
    (text) => {
      expect(() => findProgram(text, path())).toThrow(
        expect.objectContaining({
          status: 127,
          message: expect.stringMatching(/write each word apart, or .* --shell/),
          next: `command -v '${text}'`,
        }),
      );
    },
  );

  it('is looked for next as a shell takes its name for one word', () => {
    const file = join(folder, "it's text");
    writeFileSync(file, '#!/bin/sh\n', { mode: 0o644 });
    expect(() => findProgram(file, undefined)).toThrow(
      expect.objectContaining({ next: `ls -l '${folder}/it'\\''s text'` }),
    );
  });

  it('is not looked for where there is no PATH', () => {
    expect(() => findProgram('fit', undefined)).toThrow(expect.objectContaining({ status: 127 }));
  });

  it('is found in the working folder by an empty entry of the PATH, and named so that the system finds it', () => {
    const before = process.cwd();
    process.chdir(join(folder, 'a'));
    try {
      expect(findProgram('fit', `${join(folder, 'nowhere')}:`)).toBe('./fit');
    } finally {
      process.chdir(before);
    }
  });
});

describe('the command', () => {
  it('is not interpreted', () => {
    const words = ['fit', '$HOME', '; rm', '*'];
    expect(resolveCommand({ words, isForShell: false }, { PATH: path() })).toEqual([
      join(folder, 'a/fit'),
      ...words.slice(1),
    ]);
  });

  it('is a text for the shell if that is asked for, with the rest as its arguments', () => {
    const command = { words: ['echo $1', 'one'], isForShell: true };
    expect(resolveCommand(command, {})).toEqual(['/bin/sh', '-c', 'echo $1', 'sh', 'one']);
  });

  it('may be written as one text, and is then divided at spaces', () => {
    expect(parseCommandLine(' notify  lost --now ', '--on-lost', false).words).toEqual([
      'notify',
      'lost',
      '--now',
    ]);
  });

  it.each([
    'notify "all of you"',
    'a && b',
    'a | b',
    'echo $X',
    'ls *',
    'a > b',
    '~/x',
    'a;b',
    '`a`',
  ])('is refused if only a shell would understand it: %s', (text) => {
    expect(() => parseCommandLine(text, '--on-lost', false)).toThrow(/--on-lost.*add --shell/);
    expect(parseCommandLine(text, '--on-lost', true).words).toEqual([text]);
  });

  it('is refused if it is empty', () => {
    expect(() => parseCommandLine('  ', '--on-lost', true)).toThrow('--on-lost is no command');
  });
});

describe('the environment of the command', () => {
  it('has what it is told, and what we have, but no setting of ours', () => {
    const own = {
      HOME: '/root',
      TENURE_URL: 'redis://u:secret@h',
      TENURE_CONFIG: '/etc/tenure.json',
      TENURE_TERM: '1',
      NOTTENURE_X: 'kept',
    };
    const facts = { name: 'work', term: 42, holderId: 'a', holderDigest: 'd', ttlMs: 2_000 };
    expect(childEnvironment(own, facts)).toEqual({
      HOME: '/root',
      NOTTENURE_X: 'kept',
      TENURE_NAME: 'work',
      TENURE_TERM: '42',
      TENURE_HOLDER: 'a',
      TENURE_HOLDER_DIGEST: 'd',
      TENURE_TTL_MS: '2000',
    });
  });
});
