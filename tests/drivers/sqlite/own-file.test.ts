import { expect, it } from 'vitest';
import { requireOwnFile } from '../../../src/drivers/sqlite/schema.js';
import { StoreMisconfiguredError } from '../../../src/errors/index.js';
import { untyped } from '../../support/untyped.js';

const schema = { applicationId: 7, format: 1, sql: '', onNewBoot() {} };

/** A file that answers one question after the other, and has tables. */
function fileWith(...ids: number[]): Parameters<typeof requireOwnFile>[0] {
  const pragma = () => ids.shift();
  return untyped({ path: 'x.db', pragma, get: () => ({ name: 'file' }) });
}

it('a file that another process creates between two questions is ours', () => {
  expect(() => requireOwnFile(fileWith(0, 7, 7), schema)).not.toThrow();
  expect(() => requireOwnFile(fileWith(0, 0, 7), schema)).not.toThrow();
});

it('a file of another program is refused', () => {
  expect(() => requireOwnFile(fileWith(0, 0, 0), schema)).toThrow(StoreMisconfiguredError);
  expect(() => requireOwnFile(fileWith(3, 3, 3), schema)).toThrow('of another program');
});
