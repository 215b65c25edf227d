import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import * as tenure from '../../src/index.js';
import * as memory from '../../src/memory.js';
import * as schedule from '../../src/schedule.js';

/** A page of `docs/`. */
export function readPage(file: string): string {
  return readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8');
}

/** Each program of a page with the output that is printed below it. */
export function programsOf(page: string): { program: string; output: string }[] {
  return [...page.matchAll(/```js\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/g)].map(
    ([, program = '', output = '']) => ({ program, output }),
  );
}

const modules: Record<string, object> = {
  tenure,
  'tenure/memory': memory,
  'tenure/schedule': schedule,
};

/** Runs a program with the package taken from its sources, so that nothing has to be built; answers what it printed. */
export async function runProgram(
  program: string,
  others: Readonly<Record<string, object>> = {},
): Promise<string> {
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
  await new AsyncFunction('modules', 'console', body)({ ...modules, ...others }, { log });
  return `${lines.join('\n')}\n`;
}
