import { whyNotYours } from './ownership.js';
import { unixMs } from './shared.js';
import { operation } from './sql-function.js';

/**
 * Ends leases: by a release, or by a handoff if there is a successor.
 *
 * In: for each request name, holder, term or attempt, reason, successor and for how long; the channel to tell.
 * Out: for each request `ended` or why not, in their order.
 * Clock: read after the rows are locked.
 * Keeps true: rows are locked in the order of their names. It waits for transactions that have checked the lease and
 * have not ended, since what they write belongs to it.
 */
export function finish(schema: string): string {
  const isOwn = 'l.holder = r.holder AND (l.term = r.term OR l.attempt = r.attempt)';
  return operation(
    `${schema}.finish(space text, not_after double precision, channel text, names text[], holders text[], terms bigint[],
  attempts text[], reasons text[], successors text[], reserves integer[])`,
    'json',
    `DECLARE
  v_at timestamptz;
  v_answers text[];
  v_ended text[];
BEGIN
  IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'late', true); END IF;
  PERFORM ${schema}.settle(not_after);
  PERFORM 1 FROM ${schema}.leases AS l WHERE l.namespace = space AND l.name = ANY (names) AND l.holder = ANY (holders)
    ORDER BY l.name FOR UPDATE;
  v_at := clock_timestamp();
  IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('v_at')}, 'late', true); END IF;
  SELECT array_agg(q.answer ORDER BY q.ord), array_agg(q.name) FILTER (WHERE q.answer = 'ended') INTO v_answers, v_ended FROM (
    SELECT r.ord, r.name, coalesce(${whyNotYours(isOwn, 'r.successor IS NOT NULL')}, 'ended') AS answer
    FROM unnest(names, holders, terms, attempts, successors) WITH ORDINALITY AS r(name, holder, term, attempt, successor, ord)
    LEFT JOIN ${schema}.leases AS l ON l.namespace = space AND l.name = r.name) AS q;
  IF v_ended IS NOT NULL THEN
    UPDATE ${schema}.history AS h SET (ended_at, end_reason) = (
      SELECT v_at, CASE WHEN successors[i] IS NOT NULL THEN 'handed-off' WHEN l.revoked_at IS NOT NULL THEN 'revoked' ELSE reasons[i] END
      FROM ${schema}.leases AS l, array_position(names, h.name) AS i WHERE l.namespace = space AND l.name = h.name)
    WHERE h.namespace = space AND h.name = ANY (v_ended) AND h.kind = 'term' AND h.ended_at IS NULL
      AND h.term = (SELECT l.term FROM ${schema}.leases AS l WHERE l.namespace = space AND l.name = h.name);
    DELETE FROM ${schema}.leases AS l
    WHERE l.namespace = space AND l.name = ANY (v_ended) AND l.reserved_to IS NULL AND successors[array_position(names, l.name)] IS NULL;
    UPDATE ${schema}.leases AS l SET kind = 'reservation', holder = NULL, attempt = NULL, ttl_ms = 0, grace_ms = 0, deadline = v_at,
      metadata = NULL, revoked_at = NULL, revoked_by = NULL, revoked_reason = NULL,
      reserved_to = coalesce(successors[array_position(names, l.name)], l.reserved_to),
      reserve_ms = coalesce(reserves[array_position(names, l.name)], l.reserve_ms)
    WHERE l.namespace = space AND l.name = ANY (v_ended);
    PERFORM ${schema}.tell(channel, space, n) FROM unnest(v_ended) AS n;
  END IF;
  RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'answers', to_json(v_answers));
END`,
  );
}
