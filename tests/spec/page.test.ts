import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/bootstrap.mjs';
import { variants } from '../../spec/variants.mjs';
import { readPage } from '../support/page-programs.js';

const page = readPage('model.md');
const models = ['fence.pml', 'lease.pml'].map((file) => read(`spec/${file}`)).join('\n');
const rows = [...page.matchAll(/^\| `(\w+)`[^|]* \| `(src\/[^`]+)` \| (.+) \|$/gm)].map(
  ([, step = '', file = '', functions = '']) => ({
    step,
    file,
    functions: [...functions.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  }),
);
const named = rows.flatMap(({ file, functions }) =>
  functions.map((name): [string, string] => [name, file]),
);

describe('the page of the model', () => {
  it.each(named)('names a function that is there: %s in %s', (name, file) => {
    expect(definitions(read(file), name)).toBe(1);
  });

  it('names nothing that is only called there', () => {
    expect(definitions(read('src/leases/lease.ts'), 'look')).toBe(0);
    expect(definitions(read('src/leases/acquisition.ts'), '#giveBackAll')).toBe(0);
  });

  it.each([...new Set(rows.map(({ step }) => step))])('names a step of a model: %s', (step) => {
    expect(models).toMatch(new RegExp(`^#define ${step}\\b|^byte .*\\b${step}\\[`, 'm'));
  });

  it('has a row for each step that changes what somebody has', () => {
    expect(rows.length).toBeGreaterThan(25);
  });

  it('says of each variant what comes of it', () => {
    const outcomes = [...page.matchAll(/^\|[^|`]+\| (?:holds|fails)/gm)];
    // Two of them share a row.
    expect(outcomes.length).toBe(variants.length - 1);
  });
});

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** How often a file defines a function, a method or a script of this name. */
function definitions(source: string, name: string): number {
  const escaped = name.replace('#', '\\#');
  const function_ = `^(?:export )?(?:async )?function ${escaped}\\(`;
  const constant = `^(?:export )?const ${escaped} =`;
  const method = `^  (?:async )?${escaped}\\([^;]*\\{$`;
  return [...source.matchAll(new RegExp(`${function_}|${constant}|${method}`, 'gm'))].length;
}
