import { OptionError } from '../../errors/index.js';

/** PostgreSQL cuts longer identifiers off, and two long names could become one. */
const identifierPattern = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/**
 * A schema's name, ready to stand in SQL text: in double quotes, so that case counts and no keyword is special.
 *
 * @throws {OptionError} naming `option`, unless the name is 1 to 63 letters, digits and underscores that do not begin
 * with a digit, nor with `pg_`, which belongs to the server.
 */
export function quoteSchema(schema: string, option = 'schema'): string {
  if (
    typeof schema === 'string' &&
    identifierPattern.test(schema) &&
    !schema.toLowerCase().startsWith('pg_') &&
    schema.toLowerCase() !== 'information_schema'
  ) {
    return `"${schema}"`;
  }
  throw new OptionError(
    option,
    schema,
    'is not a schema name tenure takes',
    'use 1 to 63 letters, digits or underscores, beginning with a letter or underscore and not with pg_',
  );
}

/**
 * A text as a literal of SQL, for statements that are sent together with others and so cannot have parameters. Means the same
 * whatever `standard_conforming_strings` is. NUL has no form at all; callers have refused it.
 */
export function quoteLiteral(text: string): string {
  const quoted = text.replaceAll("'", "''");
  return quoted.includes('\\') ? `E'${quoted.replaceAll('\\', '\\\\')}'` : `'${quoted}'`;
}
