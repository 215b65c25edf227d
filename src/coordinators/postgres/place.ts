import { validateUrl } from '../../drivers/postgres/index.js';
import { OptionError } from '../../errors/index.js';

/** The parameter of a `postgres:` URL that names the schema of tenure's tables. PostgreSQL's own programs know it not. */
const parameter = 'schema';
const usualSchema = 'tenure';
/** What `pg` reads of a URL. A parameter that is misspelt would be passed over in silence, `schema` above all. */
const known = new Set(
  'application_name client_encoding connect_timeout database dbname fallback_application_name host hostaddr idle_in_transaction_session_timeout keepalives keepalives_idle lock_timeout options password port query_timeout ssl sslcert sslkey sslmode sslnegotiation sslpassword sslrootcert statement_timeout uselibpqcompat user'.split(
    ' ',
  ),
);

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
 * @throws {OptionError} if the URL is none, has a parameter that nobody reads, names several schemas, or another than the
 * option does.
 */
export function placeOf<Source extends object>(
  urlOrSource: string | URL | Source,
  option: string | undefined,
): PostgresPlace<Source> {
  if (typeof urlOrSource !== 'string' && !(urlOrSource instanceof URL))
    return { source: urlOrSource, schema: option ?? usualSchema };
  const text = validateUrl(String(urlOrSource));
  const url = new URL(text);
  for (const name of url.searchParams.keys()) {
    if (name === parameter || known.has(name)) continue;
    const remedy = `use ${parameter}=, or what the package pg reads, such as sslmode=`;
    // A ? that belongs to a password begins what looks like parameters.
    const shown =
      /^[a-z_]{1,40}$/i.test(name) && text.includes(`${name}=`) ? `?${name}=` : 'hidden';
    throw new OptionError('url', shown, 'has a parameter that is none', remedy);
  }
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
