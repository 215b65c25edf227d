import { describe, expect, it } from 'vitest';
import { causes } from '../../src/diagnosis/cause.js';
import { readPage } from '../support/page-programs.js';

describe('docs/diagnosis.md', () => {
  it('lists every cause, and no other', () => {
    const [, section = ''] = readPage('diagnosis.md').split('\n## Causes\n');
    const [table = ''] = /(?:^\|.*\n)+/m.exec(section) ?? [];
    const words = [...table.matchAll(/^\| (`.*?`(?:, `.*?`)*) \|/gm)].flatMap(([, cell = '']) =>
      cell.split(', ').map((word) => word.replaceAll('`', '')),
    );
    expect(words.sort()).toEqual(Object.keys(causes).sort());
  });
});
