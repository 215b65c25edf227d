import { isOurs, milliseconds, overAt } from './shared.js';
import { operation } from './sql-function.js';

/** Why row `l` is not the caller's to change at `v_at`; null if it is. A lease in its lock-delay has expired. */
export function whyNotYours(isOwn: string, refusesRevoked: string): string {
  return `CASE
      WHEN l.name IS NULL OR ${isOurs('l')} AND v_at >= ${overAt('l')} THEN 'vanished'
      WHEN l.kind = 'lease' AND v_at >= l.deadline AND v_at < l.deadline + ${milliseconds('l.grace_ms')} THEN 'vanished'
      WHEN l.kind <> 'lease' OR v_at >= l.deadline OR (${isOwn}) IS NOT TRUE THEN 'superseded'
      WHEN l.revoked_at IS NOT NULL AND (${refusesRevoked}) THEN 'revoked'
      END`;
}

/**
 * Whether a lease still stands, for a transaction that writes to this same database under it.
 *
 * In: a name, a term and the holder's digest: the first 32 hexadecimal digits of the SHA-256 of `id:nonce`.
 * Out: null if it stands; else how it has ended.
 * Clock: read after the row is locked.
 * Keeps true: until the transaction ends, nobody else is granted the name, be the lease's time over or not; its holder's
 * renewals go on.
 */
export function stands(schema: string): string {
  return operation(
    `${schema}.stands(space text, asked text, of_term bigint, of_digest text)`,
    'text',
    `DECLARE
  l ${schema}.leases;
BEGIN
  SELECT * INTO l FROM ${schema}.leases AS o WHERE o.namespace = space AND o.name = asked FOR KEY SHARE;
  IF NOT FOUND THEN RETURN 'vanished'; END IF;
  IF l.kind <> 'lease' OR l.term IS DISTINCT FROM of_term
    OR left(encode(sha256(convert_to(l.holder, 'UTF8')), 'hex'), 32) IS DISTINCT FROM of_digest THEN RETURN 'superseded'; END IF;
  IF clock_timestamp() >= l.deadline THEN RETURN 'expired'; END IF;
  RETURN CASE WHEN l.revoked_at IS NOT NULL THEN 'revoked' END;
END`,
  );
}
