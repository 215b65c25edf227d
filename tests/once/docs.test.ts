import { createServer } from 'node:http';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import * as http from '../../src/http.js';
import * as tenure from '../../src/index.js';
import * as memory from '../../src/memory.js';
import { programsOf, readPage } from '../support/page-programs.js';

const modules: Record<string, object> = {
  tenure,
  'tenure/http': http,
  'tenure/memory': memory,
  'node:http': { createServer },
};

it('the programs of docs/once.md print what stands below them', async () => {
  const programs = programsOf(readPage('once.md'));
  expect(programs).toHaveLength(2);
  for (const { program, output } of programs) expect(await outputOf(program)).toBe(output);
});

async function outputOf(program: string): Promise<string> {
  const imports = /import \{([^}]+)\} from '([^']+)';/g;
  const body = program.replace(imports, (_, names, from) => {
    return `const {${names}} = modules['${from}'];`;
  });
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (from: typeof modules, print: Pick<Console, 'log'>) => Promise<void>;
  const lines: string[] = [];
  const log = (...values: unknown[]) => {
    const words = values.map((value) => (typeof value === 'string' ? value : inspect(value)));
    lines.push(words.join(' '));
  };
  await new AsyncFunction('modules', 'console', body)(modules, { log });
  return `${lines.join('\n')}\n`;
}
