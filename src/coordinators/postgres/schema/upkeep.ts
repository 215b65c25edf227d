import { isOurs, milliseconds, overAt } from './shared.js';
import { sqlFunction } from './sql-function.js';

/* What a grant does along the way. */

/** How far a deadline may lie beyond what its own ttl allows before the server's clock counts as set back. */
const clockSlack = `interval '1 second'`;

/** Whether row `l` has a deadline that lies beyond what its own ttl allows at the time `at`. */
export const isAhead = (at: string): string =>
  `${isOurs('l')} AND l.deadline > ${at} + ${milliseconds('l.ttl_ms')} + ${clockSlack}`;

/**
 * A statement of a function that shows what stands there: as {@link mend}, for rows `l` that are `wanted`. Who only looks until
 * a name is free would wait for as long as the clock was set back by, since nobody acquires what is held.
 *
 * Needs `v_ahead text[]` and `v_mended text[]`; locks nothing if there is nothing to mend.
 */
export function mendWhere(schema: string, wanted: string): string {
  return `SELECT array_agg(l.name) INTO v_ahead FROM ${schema}.leases AS l
  WHERE l.namespace = space AND ${wanted} AND ${isAhead('clock_timestamp()')};
  IF v_ahead IS NOT NULL THEN v_mended := ${schema}.mend(space, v_ahead); END IF;`;
}

/**
 * Cuts deadlines that lie beyond what their own ttl allows: the server's clock was set back since they were written.
 *
 * Out: the names.
 * Keeps true: nobody's lease becomes shorter than its ttl from now.
 */
export function mend(schema: string): string {
  return sqlFunction(`${schema}.mend(space text, names text[])`, 'text[]', {
    body: `WITH ahead AS (
    SELECT l.namespace, l.name FROM ${schema}.leases AS l WHERE l.namespace = space AND l.name = ANY (names) AND ${isAhead('clock_timestamp()')}
    ORDER BY l.name FOR NO KEY UPDATE SKIP LOCKED
  ), mended AS (
    UPDATE ${schema}.leases AS l SET deadline = clock_timestamp() + ${milliseconds('l.ttl_ms')}, renewed_at = clock_timestamp()
    FROM ahead AS a WHERE l.namespace = a.namespace AND l.name = a.name RETURNING l.name)
  SELECT array_agg(m.name) FROM mended AS m`,
  });
}

/**
 * Removes leases and entries of candidates whose time is over for a minute, from the next few rows after a name.
 *
 * Out: where to go on; the empty text at the end.
 */
export function sweep(schema: string): string {
  const rows = 16;
  return sqlFunction(`${schema}.sweep(space text, swept text, at timestamptz)`, 'text', {
    language: 'plpgsql',
    body: `DECLARE
  v_next text;
  v_gone record;
BEGIN
  SELECT max(q.name) INTO v_next FROM (
    SELECT l.name FROM ${schema}.leases AS l WHERE l.namespace = space AND l.name > swept ORDER BY l.name LIMIT ${rows}) AS q;
  FOR v_gone IN SELECT l.name, l.term, l.kind, l.deadline, l.revoked_at FROM ${schema}.leases AS l
    WHERE l.namespace = space AND l.name > swept AND l.name <= v_next AND ${isOurs('l')}
      AND ${overAt('l')} < at - interval '1 minute'
    ORDER BY l.name FOR UPDATE SKIP LOCKED
  LOOP
    UPDATE ${schema}.history AS h SET ended_at = v_gone.deadline,
      end_reason = CASE WHEN v_gone.revoked_at IS NULL THEN 'expired' ELSE 'revoked' END
    WHERE h.namespace = space AND h.name = v_gone.name AND h.kind = 'term' AND h.ended_at IS NULL
      AND h.term = v_gone.term AND v_gone.kind = 'lease';
    DELETE FROM ${schema}.leases WHERE namespace = space AND name = v_gone.name;
  END LOOP;
  DELETE FROM ${schema}.candidates WHERE ctid = ANY (ARRAY(
    SELECT c.ctid FROM (SELECT o.ctid, o.deadline FROM ${schema}.candidates AS o WHERE o.namespace = space AND o.name > swept
      ORDER BY o.name LIMIT ${rows}) AS q JOIN ${schema}.candidates AS c ON c.ctid = q.ctid
    WHERE c.deadline < at - interval '1 minute' FOR UPDATE OF c SKIP LOCKED));
  RETURN coalesce(v_next, '');
END`,
  });
}
