import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readTextFile } from '../../src/drivers/text-file.js';
import { OptionError } from '../../src/errors/index.js';

const folder = mkdtempSync(join(tmpdir(), 'tenure-text-file-'));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (file: string) => readTextFile('--file', file, 'name a file of jobs');

describe('a file that a user names', () => {
  it('is read whole, be it as long as one may be', () => {
    const file = join(folder, 'long');
    const text = `${'é'.repeat(512 * 1024 - 1)}ab`;
    writeFileSync(file, text);
    expect(read(file)).toBe(text);
    writeFileSync(file, '');
    expect(read(file)).toBe('');
  });

  it('may be a pipe, which gives it in pieces', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
    spawn('sh', ['-c', '(printf one; sleep 0.1; printf two) > "$0"', pipe]);
    expect(read(pipe)).toBe('onetwo');
  });

  it('is refused if it is longer, or has no end', () => {
    const file = join(folder, 'longer');
    writeFileSync(file, Buffer.alloc(1024 * 1024 + 1));
    for (const one of [file, '/dev/zero']) {
      expect(() => read(one)).toThrow(OptionError);
      expect(() => read(one)).toThrow('has more than 1048576 bytes');
    }
  });

  it('is refused by the name of the option if it cannot be read', () => {
    const shown = () => readTextFile('ca', join(folder, 'none'), 'pass a PEM text', './none');
    expect(shown).toThrow('ca cannot be read: ENOENT (got "./none"): pass a PEM text');
    expect(() => read(folder)).toThrow('--file cannot be read: EISDIR');
  });
});
