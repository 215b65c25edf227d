import { OptionError } from '../../errors/index.js';

const identifier = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** `table` or `schema.table` as SQL. Case counts. @throws {OptionError} */
export function quoteTable(table: string): string {
  const parts = typeof table === 'string' ? table.split('.') : [];
  if (parts.length >= 1 && parts.length <= 2 && parts.every((part) => identifier.test(part)))
    return parts.map((part) => `"${part}"`).join('.');
  const remedy = 'use name or schema.name, each of 1 to 63 letters, digits and underscores';
  throw new OptionError('table', table, 'is no name of a table that tenure takes', remedy);
}

/** @throws {OptionError} naming `option`. */
export function quoteColumn(option: string, column: string): string {
  if (typeof column === 'string' && identifier.test(column)) return `"${column}"`;
  const remedy = 'use 1 to 63 letters, digits and underscores';
  throw new OptionError(option, column, 'is no name of a column that tenure takes', remedy);
}
