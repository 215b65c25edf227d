/**
 * Which privilege is missing, in the server's own words, and where the rights stand that what was asked for needs.
 *
 * @param what as it begins the message of the error.
 */
export function saidDenied(error: unknown, what: string): string {
  const words = serverWords(error);
  return `the role lacks a privilege${words}; ${remedyOf(words, what)}`;
}

/** Who was not let in, in the server's own words: a URL without a user leaves that to the system. */
export function saidNotLetIn(error: unknown): string {
  return `the server does not let this role in${serverWords(error)}; check the user (a URL that names none means the one that this process runs as, or PGUSER), the database and pg_hba.conf, and whether it asks for TLS (?sslmode=require)`;
}

export function saidWrongPassword(error: unknown): string {
  return `the password was not accepted${serverWords(error)}; check the user and the password`;
}

/** As an aside; nothing for what a function of the user's has raised, which may quote a row. */
function serverWords(error: unknown): string {
  if (!(error instanceof Error) || error.message === '') return '';
  const { routine } = error as { readonly routine?: unknown };
  return routine === 'exec_stmt_raise' ? '' : ` (${error.message})`;
}

const fenceTables = /\b(?:fences|effects|fence_pass)\b/;
const onceTable = /\bonce_keys\b/;
const fenceCalls =
  /^(?:the (?:claim|check|transaction|write|record) .*(?:"|an effect)|reading the term of |forgetting old effects)/s;

/** The object says it, unless it is the schema, in which the tables of everything stand. */
function remedyOf(words: string, what: string): string {
  if (what.startsWith('the migration of'))
    return 'migrate with a role that may create schemas in this database, or that owns the schema and its tables';
  if (onceTable.test(words)) return grant('protocol.md', 'Keys of effects');
  const isOurs = /\b(?:versions|schema)\b/i.test(words);
  if (fenceTables.test(words) || (isOurs && fenceCalls.test(what)))
    return grant('fencing/postgres.md', 'The tables');
  if (fenceCalls.test(what)) return 'grant it, as the owner of what is named there';
  return grant('protocol.md', 'Leases on PostgreSQL: The least rights');
}

const grant = (page: string, heading: string) =>
  `grant what node_modules/tenure/docs/${page} lists under "${heading}"`;
