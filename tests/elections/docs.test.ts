import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import * as tenure from '../../src/index.js';
import * as memory from '../../src/memory.js';

const page = readFileSync(new URL('../../docs/elections.md', import.meta.url), 'utf8');

/** Each program of the page with the output that is printed below it. */
const programs = [...page.matchAll(/```js\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/g)].map(
  ([, program = '', output = '']) => ({ program, output }),
);

const modules: Record<string, object> = { tenure, 'tenure/memory': memory };

/** Runs a program with the package taken from its sources, so that nothing has to be built; answers what it printed. */
async function run(program: string): Promise<string> {
  const imports = /import \{([^}]+)\} from '([^']+)';/g;
  const body = program.replace(
    imports,
    (_, names, from) => `const {${names}} = modules['${from}'];`,
  );
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (from: typeof modules, print: Pick<Console, 'log'>) => Promise<void>;
  const lines: string[] = [];
  const log = (...values: unknown[]) =>
    void lines.push(
      values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' '),
    );
  await new AsyncFunction('modules', 'console', body)(modules, { log });
  return `${lines.join('\n')}\n`;
}

describe('the page about elections', () => {
  it('has no program without its output', () => {
    expect(programs.length).toBe([...page.matchAll(/```js\n/g)].length);
    expect(programs.length).toBe(3);
  });

  it.each(programs)('shows a program that prints $output', async ({ program, output }) => {
    expect(await run(program)).toBe(output);
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
