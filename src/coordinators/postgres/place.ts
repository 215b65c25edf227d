import { validateUrl } from '../../drivers/postgres/index.js';
import { OptionError } from '../../errors/index.js';

/** The parameter of a `postgres:` URL that names the schema of tenure's tables. PostgreSQL's own programs know it not. */
const parameter = 'schema';
const usualSchema = 'tenure';

/** Where the tables are. */
export interface PostgresPlace<Source> {
  /** The URL, without what it says of the schema; or what else was passed. */
  readonly source: string | Source;
  readonly schema: string;
}

/**
 * The schema may stand in the URL, as on the command line, or be an option; one that is left out is `tenure`. Whoever ran a
 * command and a program on one URL would else lead twice.
 *
 * @throws {OptionError} if the URL is none, names several schemas, or another than the option does.
 */
export function placeOf<Source extends object>(
  urlOrSource: string | URL | Source,
  option: string | undefined,
): PostgresPlace<Source> {
  if (typeof urlOrSource !== 'string' && !(urlOrSource instanceof URL))
    return { source: urlOrSource, schema: option ?? usualSchema };
  const text = validateUrl(String(urlOrSource));
  const url = new URL(text);
  const named = url.searchParams.getAll(parameter);
  if (named.length === 0) return { source: text, schema: option ?? usualSchema };
  const schemas = new Set([...named, ...(option === undefined ? [] : [option])]);
  if (schemas.size > 1) {
    const remedy = 'name one schema, in the URL or as an option';
    throw new OptionError('schema', [...schemas].join(', '), 'is more than one schema', remedy);
  }
  url.searchParams.delete(parameter);
  return { source: url.href, schema: named[0] as string };
}
