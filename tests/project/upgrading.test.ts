import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tooNew } from '../../src/coordinators/postgres/check.js';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/upgrading.md'), 'utf8');

describe('docs/upgrading.md', () => {
  it('quotes what an older tenure says of what a newer one has left', () => {
    const quoted = [...page.matchAll(/refused: `([^`]+)`/g)].map(([, text = '']) => text);
    expect(quoted).toHaveLength(2);
    const [sqlite = '', postgres = ''] = quoted;
    const source = readFileSync(join(root, 'src/drivers/sqlite/schema.ts'), 'utf8');
    const blanks = source.replace(/\$\{[^}]+\}/g, '_');
    expect(blanks).toContain(sqlite.replace(/\d+/g, '_'));
    expect(tooNew('tenure', 2).message).toContain(postgres);
  });
});
