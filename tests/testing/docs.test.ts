import { describe, expect, it } from 'vitest';
import * as testing from '../../src/testing.js';
import { programsOf, readPage, runProgram } from '../support/page-programs.js';

const page = readPage('testing.md');
const heading = '\n## For your own tests\n';
const after = page.slice(page.indexOf(heading) + heading.length);
const section = after.slice(0, after.search(/^## /m) === -1 ? undefined : after.search(/^## /m));
const programs = programsOf(section);

describe('the section for tests of your own', () => {
  it('has no program without its output', () => {
    expect(programs.length).toBe(1);
    expect([...section.matchAll(/```js\n/g)].length).toBe(programs.length);
  });

  it.each(programs)('shows a program that prints what it says', async ({ program, output }) => {
    expect(await runProgram(program, { 'tenure/testing': testing })).toBe(output);
  });

  it('names suites that are exported', () => {
    const named = [...section.matchAll(/`(register\w+)`/g)].map(([, name = '']) => name);
    const exported = Object.keys(testing).filter((name) => /^register.*Conformance$/.test(name));
    expect(named.sort()).toEqual(exported.sort());
  });

  it('names methods that are there', () => {
    const fleet = new testing.TestFleet();
    const process = fleet.process('ann');
    const parts = { fleet, process, 'process.coordinator': process.coordinator };
    const calls = [...section.matchAll(/`(?:await )?(fleet|process(?:\.coordinator)?)\.(\w+)\(/g)];
    expect(calls.length).toBeGreaterThan(10);
    for (const [call, object = '', method = ''] of calls)
      expect(typeof Reflect.get(parts[object as keyof typeof parts], method), call).toBe(
        'function',
      );
  });
});
