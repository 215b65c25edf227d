import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { bugs } from './planted/bugs.mjs';

const play = fileURLToPath(new URL('./planted/play.mjs', import.meta.url));

/** So many processes at a time: each needs a core. */
const lanes: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];

/** What is given to one lane runs one after the other. */
function inLane<Result>(index: number, task: () => Promise<Result>): Promise<Result> {
  const lane = index % lanes.length;
  const result = Promise.resolve(lanes[lane]).then(task);
  lanes[lane] = result.catch(() => {});
  return result;
}

async function found(name: string, from: number, to: number): Promise<{ checker: string } | null> {
  const args = ['--no-warnings', play, name, String(from), String(to)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

/** The rows of the table, as the documentation has them. */
async function documented(): Promise<string[][]> {
  const text = await readFile(new URL('../../docs/testing.md', import.meta.url), 'utf8');
  const [, section = ''] = text.split('### Planted bugs\n');
  const [table = ''] = section.split('\n#');
  const rows = table.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe.concurrent('a bug that is planted in the code', { timeout: 600_000 }, () => {
  for (const [index, bug] of bugs.entries()) {
    const { name, checkers, withinSeeds, firstSeed = 1 } = bug;
    it(`is found within ${withinSeeds} seeds: ${name}`, async ({ expect }) => {
      const violation = await inLane(index, () => found(name, firstSeed, withinSeeds));
      expect(checkers).toContain(violation?.checker);
    });
  }
});

describe('what a planted bug changes', () => {
  const edits = bugs.flatMap(({ name, edits }) => edits.map((edit) => ({ name, ...edit })));
  it.each(edits)('stands once in $file: $name', async ({ file, from }) => {
    const text = await readFile(new URL(`../../src/${file}`, import.meta.url), 'utf8');
    expect(text.split(from)).toHaveLength(2);
  });
});

describe('what the documentation says of planted bugs', () => {
  it('is what is tested', async () => {
    const rows = bugs.map(({ name, checkers, withinSeeds }) => [
      name,
      checkers.map((checker) => `*${checker}*`).join(', '),
      String(withinSeeds),
    ]);
    const stated = await documented();
    expect(stated.map(([name, _change, by, within]) => [name, by, within])).toEqual(rows);
  });
});
