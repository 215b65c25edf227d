import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { awaitTextFile, readTextFile } from '../../src/drivers/text-file.js';
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

  it('may be a pipe to which nobody writes yet, as long as its reader does not give up', async () => {
    const pipe = join(folder, 'late');
    execFileSync('mkfifo', [pipe]);
    const wait = (signal = AbortSignal.timeout(30_000)) =>
      awaitTextFile('--file', pipe, 'name a file of jobs', signal);
    const reason = new Error('stopped');
    const giving = new AbortController();
    const given = wait(giving.signal);
    giving.abort(reason);
    await expect(given).rejects.toBe(reason);
    const read = wait();
    spawn('sh', ['-c', '(sleep 0.1; printf one; sleep 0.1; printf two) > "$0"', pipe]);
    expect(await read).toBe('onetwo');
    const long = wait();
    spawn('sh', ['-c', 'cat /dev/zero > "$0"', pipe]);
    await expect(long).rejects.toThrow('has more than 1048576 bytes');
  });

  it('is waited for without harm if it is no pipe', async () => {
    const file = join(folder, 'plain');
    writeFileSync(file, 'text');
    const { signal } = new AbortController();
    expect(await awaitTextFile('--file', file, 'name a file', signal)).toBe('text');
    const none = awaitTextFile('--file', join(file, 'none'), 'name a file', signal);
    await expect(none).rejects.toThrow('--file cannot be read: ENOTDIR');
  });

  it('is refused if it is longer, or has no end', () => {
    const file = join(folder, 'longer');
    writeFileSync(file, Buffer.alloc(1024 * 1024 + 1));
    for (const one of [file, '/dev/zero']) {
      expect(() => read(one)).toThrow(OptionError);
      expect(() => read(one)).toThrow('has more than 1048576 bytes');
    }
  });

  it('is refused with the line that is no UTF-8, and never read as something else', () => {
    const file = join(folder, 'latin');
    writeFileSync(file, Buffer.from('one\ntwo\nGr\xfc\xdfe\nfour', 'latin1'));
    expect(() => read(file)).toThrow('--file is no UTF-8 text: line 3 is none (got');
    writeFileSync(file, Buffer.from([0x61, 0xf0, 0x9f, 0x98]));
    expect(() => read(file)).toThrow('--file is no UTF-8 text: line 1 is none (got');
  });

  it('is read without the mark of its encoding', () => {
    const file = join(folder, 'marked');
    writeFileSync(file, '\ufeffone\r\ntw\ufffdo');
    expect(read(file)).toBe('one\r\ntw\ufffdo');
  });

  it('is refused by the name of the option if it cannot be read', () => {
    const shown = () => readTextFile('ca', join(folder, 'none'), 'pass a PEM text', './none');
    expect(shown).toThrow(
      'ca cannot be read: ENOENT, there is no such file (got "./none"): pass a PEM text',
    );
    expect(() => read(folder)).toThrow('--file cannot be read: EISDIR, it is a folder');
  });
});
