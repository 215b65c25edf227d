interface FunctionParts {
  readonly body: string;
  readonly language?: 'sql' | 'plpgsql';
  /** `STABLE` ones see what the statement that calls them sees. Default `VOLATILE`: every statement inside looks anew. */
  readonly volatility?: 'STABLE' | 'VOLATILE';
  /** Settings while it runs: `enable_hashjoin = off`. */
  readonly settings?: readonly string[];
}

/**
 * The SQL that creates a function of the schema. It runs with the rights of whoever calls it, and trusts no `search_path`:
 * functions and operators are the server's own, and everything of ours is written with its schema.
 */
export function sqlFunction(signature: string, returns: string, parts: FunctionParts): string {
  const { body, language = 'sql', volatility = 'VOLATILE', settings = [] } = parts;
  // What is called from inside another function of ours has that one's path; a setting would cost each call.
  const kept = settings.map((setting) => `\n  SET ${setting}`).join('');
  return `CREATE FUNCTION ${signature} RETURNS ${returns}
  LANGUAGE ${language} ${volatility} SECURITY INVOKER${kept} AS $tenure$
${body}
$tenure$;
`;
}

/** The SQL that creates an operation: what a client calls. */
export function operation(
  signature: string,
  returns: string,
  body: string,
  settings: readonly string[] = [],
): string {
  return sqlFunction(signature, returns, {
    body,
    language: 'plpgsql',
    settings: ['search_path = pg_catalog, pg_temp', ...settings],
  });
}
