import { OptionError } from '../../errors/index.js';

const identifierPattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const ofTheServer = ['mysql', 'information_schema', 'performance_schema', 'sys'];

/**
 * A database's name, ready to stand in SQL text: in backticks, so that no keyword is special in any `sql_mode`.
 *
 * @throws {OptionError} unless the name is 1 to 64 letters, digits and underscores that do not begin with a digit, and
 * none of the server's own databases.
 */
export function quoteDatabase(database: string): string {
  const isName = typeof database === 'string' && identifierPattern.test(database);
  if (isName && !ofTheServer.includes(database.toLowerCase())) return `\`${database}\``;
  throw new OptionError(
    'database',
    database,
    'is not a database name tenure takes',
    "use 1 to 64 letters, digits or underscores, beginning with a letter or underscore, and none of the server's own",
  );
}
