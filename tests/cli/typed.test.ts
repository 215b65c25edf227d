import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { main } from './command-line.js';

/** Runs `tenure` as a shell does that was given a byte which no UTF-8 has: `\351`, an é of Latin-1. */
function typedWithByte(words: string): Promise<{ status: number; stderr: string }> {
  const script = `exec "$0" "$1" ${words.replaceAll('%', `"$(printf 'caf\\351')"`)}`;
  return new Promise((resolve) => {
    const child = execFile('/bin/sh', ['-c', script, process.execPath, main], (_error, _, stderr) =>
      resolve({ status: child.exitCode ?? -1, stderr: stderr.replace(/\s+/g, ' ') }),
    );
  });
}

const reason = '--reason INC-12';
const nowhere = '--url redis://127.0.0.1:1';

describe('a text whose bytes are no UTF-8', () => {
  it.each([
    ['NAME', `who % ${nowhere}`],
    ['NAME or GROUP', `status % ${nowhere}`],
    ['NAME', `suspend % ${reason} --yes ${nowhere}`],
    ['--reason', `suspend payments --reason % --yes ${nowhere}`],
    ['--by', `suspend payments ${reason} --by % --yes ${nowhere}`],
    ['--to', `handoff payments --to % --yes ${nowhere}`],
    ['--namespace', `who payments --namespace % ${nowhere}`],
    ['JOB', `jobs run % ${reason} ${nowhere}`],
    ['--reason', `jobs run settle --reason % ${nowhere}`],
    ['KEY', `once settle % --done ${reason} --yes ${nowhere}`],
    ['--reason', `once settle mail/1 --done --reason % --yes ${nowhere}`],
    ['--election', `run --election % ${nowhere} -- true`],
    ['--id', `run --election payments --id % ${nowhere} -- true`],
  ])('is refused as %s, which it would not be: %s', async (place, words) => {
    const { status, stderr } = await typedWithByte(words);
    expect(stderr).toContain(`: ${place} is no UTF-8`);
    expect(status).toBe(64);
  });
});
