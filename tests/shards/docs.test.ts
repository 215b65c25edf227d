import { describe, expect, it } from 'vitest';
import { programsOf, readPage, runProgram } from '../support/page-programs.js';

const page = readPage('sharding.md');
const programs = programsOf(page);

describe('the page about sharding', () => {
  it('has no program without its output', () => {
    expect(programs.length).toBe([...page.matchAll(/```js\n/g)].length);
    expect(programs.length).toBe(2);
  });

  it.each(programs)('shows a program that prints $output', async ({ program, output }) => {
    expect(await runProgram(program)).toBe(output);
  });
});
