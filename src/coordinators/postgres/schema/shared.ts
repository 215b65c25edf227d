import { calledCount } from '../../candidates.js';
import { historyCount, historyLifeMs } from '../../history.js';
import { sqlFunction } from './sql-function.js';

/** Unix time in milliseconds, as a number. */
export const unixMs = (time: string): string => `date_part('epoch', ${time}) * 1000`;
/** So many milliseconds, as an interval. */
export const milliseconds = (count: string): string => `${count} * interval '1 millisecond'`;
/** Whether a row of `leases` is one of ours: none of them ends in eternity. */
export const isOurs = (row: string): string =>
  `(${row}.kind IN ('lease', 'reservation') AND isfinite(${row}.deadline))`;
/** When a row of `leases` that is ours means nothing any more. */
export const overAt = (row: string): string =>
  `${row}.deadline + ${milliseconds(`(${row}.grace_ms::bigint + ${row}.reserve_ms)`)}`;

/** The SQLSTATE with which a function of ours takes back what it did after its deadline. */
export const lateState = 'TN001';

/** What the operations have in common. */
export function sharedFunctions(schema: string): string {
  return [
    /*
     * In: a Unix time in ms. Out: whether it has passed.
     */
    sqlFunction(`${schema}.is_late(not_after double precision)`, 'boolean', {
      body: `SELECT ${unixMs('clock_timestamp()')} > not_after`,
    }),

    /*
     * Before the first change of an operation.
     *
     * In: the Unix time in ms after which it must not happen.
     * Keeps true: what is answered as done survives a crash, whatever the role or the database has for
     * `synchronous_commit`: raised to `on`, never lowered. `remote_apply` stays; `remote_write` does not, since a standby
     * that crashes may forget what it has only written.
     * Keeps true: no wait for a lock outlasts the call. Both settings last until the transaction ends, so a pooler that
     * gives the session to somebody else passes on nothing.
     */
    sqlFunction(`${schema}.settle(not_after double precision)`, 'boolean', {
      body: `SELECT set_config('lock_timeout', ceil(least(2147483647, greatest(1, not_after - ${unixMs('clock_timestamp()')})))::bigint::text, true) IS NOT NULL
    AND (current_setting('synchronous_commit') IN ('on', 'remote_apply') OR set_config('synchronous_commit', 'on', true) IS NOT NULL)`,
    }),

    /*
     * Waits until no other grant, suspension or act is under way in the namespace. The first lock that an operation takes.
     *
     * Out: the last term that was granted in it.
     */
    sqlFunction(`${schema}.enter(space text)`, 'bigint', {
      language: 'plpgsql',
      body: `DECLARE
  last bigint;
BEGIN
  SELECT n.last_term INTO last FROM ${schema}.namespaces AS n WHERE n.namespace = space FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO ${schema}.namespaces VALUES (space, 0) ON CONFLICT DO NOTHING;
    SELECT n.last_term INTO STRICT last FROM ${schema}.namespaces AS n WHERE n.namespace = space FOR UPDATE;
  END IF;
  RETURN last;
END`,
    }),

    /*
     * What stands under a name, for the client to read; null if there is no row of it.
     */
    sqlFunction(
      `${schema}.seen(l ${schema}.leases, s ${schema}.suspensions, at timestamptz)`,
      'json',
      {
        volatility: 'STABLE',
        body: `SELECT CASE WHEN l.kind IS NOT NULL OR s.name IS NOT NULL THEN json_build_object(
    'name', coalesce(l.name, s.name), 'kind', l.kind, 'term', l.term, 'holder', l.holder, 'attempt', l.attempt,
    'ttlMs', l.ttl_ms, 'graceMs', l.grace_ms, 'reserveMs', l.reserve_ms, 'to', l.reserved_to,
    'leftMs', CASE WHEN ${isOurs('l')} THEN date_part('epoch', l.deadline - at) * 1000 END,
    'grantedAtMs', ${unixMs('l.granted_at')}, 'renewedAtMs', ${unixMs('l.renewed_at')}, 'metadata', l.metadata,
    'revokedAtMs', ${unixMs('l.revoked_at')}, 'revokedBy', l.revoked_by, 'revokedReason', l.revoked_reason,
    'suspendedAtMs', ${unixMs('s.suspended_at')}, 'suspendedBy', s.suspended_by, 'suspendedReason', s.reason) END`,
      },
    ),

    /*
     * Who waits for a name and may be granted it now, as digests divided by commas, in the order in which they are called:
     * the successor alone if it is reserved; nobody while it is held, suspended or in its lock-delay.
     */
    sqlFunction(`${schema}.callers(space text, called text, at timestamptz)`, 'text', {
      volatility: 'STABLE',
      body: `SELECT string_agg(q.digest, ',' ORDER BY q.place) FROM (
    SELECT c.digest, row_number() OVER (ORDER BY c.preference DESC, c.since, c.id, c.digest) AS place
    FROM ${schema}.candidates AS c LEFT JOIN ${schema}.leases AS l ON l.namespace = c.namespace AND l.name = c.name
    WHERE c.namespace = space AND c.name = called AND c.standing = 'waiting' AND c.deadline > at
    AND NOT EXISTS (SELECT FROM ${schema}.suspensions AS s WHERE s.namespace = space AND s.name = called)
    AND (l.name IS NULL OR ${isOurs('l')} AND CASE
      WHEN at >= ${overAt('l')} THEN true
      WHEN at >= l.deadline + ${milliseconds('l.grace_ms')} THEN l.reserved_to = c.id
      ELSE false END)
    ORDER BY 2 LIMIT ${calledCount}) AS q`,
    }),

    /*
     * Tells who listens that a name has no owner any more, and calls those who may have it. Heard once the transaction is
     * committed; and left beside the entries of those who are called, for who hears nothing and asks. An entry that is
     * locked is being refreshed, and its owner is shown what stands there: nobody waits for it.
     * The payload: digests divided by commas, a bar, the name.
     */
    sqlFunction(`${schema}.tell(channel text, space text, told text)`, 'void', {
      language: 'plpgsql',
      body: `DECLARE
  v_callers text[] := string_to_array(${schema}.callers(space, told, clock_timestamp()), ',');
BEGIN
  IF v_callers IS NOT NULL THEN
    UPDATE ${schema}.candidates AS c SET call_count = c.call_count + 1, call_place = array_position(v_callers, c.digest) - 1
    FROM (
      SELECT o.digest FROM ${schema}.candidates AS o WHERE o.namespace = space AND o.name = told AND o.digest = ANY (v_callers)
      FOR NO KEY UPDATE SKIP LOCKED) AS q
    WHERE c.namespace = space AND c.name = told AND c.digest = q.digest;
  END IF;
  PERFORM pg_notify(channel, coalesce(array_to_string(v_callers, ','), '') || '|' || told);
END`,
    }),

    /*
     * Adds a line of history, and forgets the oldest of the name if there are too many; and a few names that nobody has
     * used for long. Its caller has entered the namespace, so the numbers of lines rise in the order of what happened.
     */
    sqlFunction(
      `${schema}.note(space text, noted text, what text, at timestamptz, of_term bigint, of_holder text, an_act text, who text, why text, next text)`,
      'void',
      {
        language: 'plpgsql',
        body: `BEGIN
  INSERT INTO ${schema}.history (namespace, name, kind, noted_at, term, holder_id, act, acted_by, reason, successor)
  VALUES (space, noted, what, at, of_term, of_holder, an_act, who, why, next);
  DELETE FROM ${schema}.history AS h WHERE h.namespace = space AND h.name = noted AND h.line <= (
    SELECT o.line FROM ${schema}.history AS o WHERE o.namespace = space AND o.name = noted
    ORDER BY o.line DESC OFFSET ${historyCount} LIMIT 1);
  INSERT INTO ${schema}.histories VALUES (space, noted, at)
  ON CONFLICT (namespace, name) DO UPDATE SET used_at = excluded.used_at;
  PERFORM ${schema}.forget(space, at);
END`,
      },
    ),

    /*
     * Forgets the lines about a few names that were not used for long, unless something stands there still.
     */
    sqlFunction(`${schema}.forget(space text, at timestamptz)`, 'void', {
      language: 'plpgsql',
      body: `DECLARE
  unused text;
BEGIN
  FOR unused IN SELECT u.name FROM ${schema}.histories AS u
    WHERE u.namespace = space AND u.used_at <= at - ${milliseconds(String(historyLifeMs))}
    ORDER BY u.used_at LIMIT 4
  LOOP
    IF EXISTS (SELECT FROM ${schema}.leases AS l WHERE l.namespace = space AND l.name = unused AND (NOT ${isOurs('l')} OR ${overAt('l')} > at))
      OR EXISTS (SELECT FROM ${schema}.suspensions AS s WHERE s.namespace = space AND s.name = unused)
    THEN
      UPDATE ${schema}.histories SET used_at = at WHERE namespace = space AND name = unused;
    ELSE
      DELETE FROM ${schema}.history WHERE namespace = space AND name = unused;
      DELETE FROM ${schema}.histories WHERE namespace = space AND name = unused;
    END IF;
  END LOOP;
END`,
    }),
  ].join('\n');
}
