import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type * as tenure from '../../src/index.js';
import { programsOf, readPage, runProgram } from '../support/page-programs.js';

const page = readPage('elections.md');
const programs = programsOf(page);

describe('the page about elections', () => {
  it('has no program without its output', () => {
    expect(programs.length).toBe([...page.matchAll(/```js\n/g)].length);
    expect(programs.length).toBe(3);
  });

  it.each(programs)('shows a program that prints $output', async ({ program, output }) => {
    expect(await runProgram(program)).toBe(output);
  });

  it('names every event', () => {
    const table = page.slice(page.indexOf('## Events'));
    for (const event of [
      'elected',
      'lost',
      'resigned',
      'workFailed',
      'workReturned',
      'workOverdue',
      'campaignFailed',
      'termHealed',
      'duplicate',
      'evidenceFailed',
    ] satisfies (keyof tenure.ElectionEvents)[])
      expect(table).toContain(`\`${event} {`);
  });

  it('says what renewal from a thread can do, and what it can cost', () => {
    const section = page
      .split(/^## /m)
      .find((text) => text.startsWith('When the event loop blocks'));
    const options = [
      'renewFrom',
      'stallLimitMs',
      'onStall',
    ] satisfies (keyof tenure.LeasesOptions)[];
    for (const term of [...options, 'stalled', 'SIGKILL', 'thread', 'exit', 'lose'])
      expect(section).toContain(term);
  });

  it('names no page that is not there', () => {
    for (const [, target] of page.matchAll(/\]\(([^)#:]+)\)/g))
      expect(() => readFileSync(new URL(`../../docs/${target}`, import.meta.url))).not.toThrow();
  });
});
