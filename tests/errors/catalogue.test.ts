import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorCatalogue } from '../../src/errors/index.js';

describe('the catalogue of errors', () => {
  it('is documented code by code in docs/errors.md', () => {
    const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
    const documented = [...page.matchAll(/^\| `(TENURE_[A-Z_]+)`/gm)].map((match) => match[1]);
    expect(documented.sort()).toEqual(Object.keys(errorCatalogue).sort());
  });
});
