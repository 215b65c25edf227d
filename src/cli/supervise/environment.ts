/** What a child is told about the term it works in. */
export interface TermFacts {
  readonly name: string;
  readonly term: number;
  readonly holderId: string;
  /** What the fence in PostgreSQL compares beside the term, in place of the nonce. */
  readonly holderDigest: string;
  readonly ttlMs: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a child: ours, without any setting of tenure, since the store's address may hold a password; and
 * with what it is told about its term.
 */
export function childEnvironment(own: Environment, facts: TermFacts): Environment {
  return {
    ...Object.fromEntries(Object.entries(own).filter(([key]) => !key.startsWith('TENURE_'))),
    TENURE_NAME: facts.name,
    TENURE_TERM: String(facts.term),
    TENURE_HOLDER: facts.holderId,
    TENURE_HOLDER_DIGEST: facts.holderDigest,
    TENURE_TTL_MS: String(facts.ttlMs),
  };
}
