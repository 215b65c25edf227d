/** The parameter of a `postgres:` URL that names the schema of tenure's tables. The database's own programs know it not. */
export const schemaParameter = 'schema';

/** The schema that the URL asks for, if it does. */
export function schemaOf(url: string): string | undefined {
  return new URL(url).searchParams.get(schemaParameter) ?? undefined;
}

/** The URL with this schema, or with none, whatever it asked for before. */
export function withSchema(url: string, schema: string | undefined): string {
  const parsed = new URL(url);
  parsed.searchParams.delete(schemaParameter);
  if (schema !== undefined) parsed.searchParams.set(schemaParameter, schema);
  return parsed.href;
}
