import { highestTerm } from '../../term.js';
import { isOurs, milliseconds, overAt, unixMs } from './shared.js';
import { operation } from './sql-function.js';
import { isAhead } from './upkeep.js';

/** Whether row `l`, if there is one, leaves the name to the holder of `r` at the time `v_at`. */
const leaves = `(l.name IS NULL OR ${isOurs('l')} AND v_at >= l.deadline + ${milliseconds('l.grace_ms')}
    AND (l.reserved_to IS NULL OR l.reserved_to = split_part(r.holder, ':', 1) OR v_at >= ${overAt('l')}))`;

/**
 * Grants names.
 *
 * In: for each request name, holder, attempt, ttl, lock-delay, metadata, the term to be above, whether to keep a history;
 * the channel to tell; after which name the last sweep ended.
 * Out: for each request, in their order, `["granted", term]`, `["held", what is seen]` or `["foreign"]`.
 * Clock: read after the locks are taken.
 * Keeps true: grants of a namespace run one after another, in the order of their terms. The term is taken in the step
 * that writes the lease, and kept in a row: a sequence could hand a number out again after a crash.
 * Keeps true: who is in the way is told without any lock or write.
 * Keeps true: it never waits for a lease's row. One that is over but locked is guarded by a transaction that checked it
 * and has not ended; it is not granted before that has.
 */
export function acquire(schema: string): string {
  const judge = `SELECT array_agg(q.ord::int ORDER BY q.ord) FILTER (WHERE q.is_free), array_agg(q.answer ORDER BY q.ord),
      coalesce(bool_or(q.is_ahead), false)
    INTO v_free, v_answers, v_ahead FROM (
    SELECT r.ord, w.is_free, CASE
        WHEN w.is_free THEN NULL
        WHEN l.name IS NOT NULL AND NOT ${isOurs('l')} THEN json_build_array('foreign')
        WHEN s.name IS NULL AND l.kind = 'lease' AND v_at < l.deadline AND l.holder = r.holder AND l.attempt = r.attempt
          AND l.revoked_at IS NULL THEN json_build_array('granted', l.term)
        ELSE json_build_array('held', ${schema}.seen(l, s, v_at)) END AS answer,
      ${isAhead('v_at')} AS is_ahead
    FROM unnest(names, holders, attempts) WITH ORDINALITY AS r(name, holder, attempt, ord)
    LEFT JOIN ${schema}.leases AS l ON l.namespace = space AND l.name = r.name
    LEFT JOIN ${schema}.suspensions AS s ON s.namespace = space AND s.name = r.name
    CROSS JOIN LATERAL (SELECT s.name IS NULL AND ${leaves} AND (v_locked IS NULL OR l.name IS NULL OR l.name = ANY (v_locked)) AS is_free) AS w
  ) AS q`;
  return operation(
    `${schema}.acquire(space text, not_after double precision, channel text, names text[], holders text[], attempts text[],
  ttls integer[], graces integer[], metadatas text[], aboves bigint[], keeps boolean[], swept text)`,
    'json',
    `DECLARE
  v_at timestamptz := clock_timestamp();
  v_free int[];
  v_answers json[];
  v_ahead boolean;
  v_mended text[];
  v_locked text[];
  v_last bigint;
  v_floor bigint;
  v_term bigint;
  v_kept record;
BEGIN
  IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('v_at')}, 'late', true); END IF;
  ${judge};
  IF v_ahead THEN
    PERFORM ${schema}.settle(not_after);
    v_mended := ${schema}.mend(space, names);
    ${judge};
  END IF;
  IF v_free IS NOT NULL THEN
    PERFORM ${schema}.settle(not_after);
    v_last := ${schema}.enter(space);
    v_at := clock_timestamp();
    SELECT coalesce(array_agg(q.name), '{}') INTO v_locked FROM (
      SELECT l.name FROM ${schema}.leases AS l
      WHERE l.namespace = space AND l.name = ANY (names) AND ${isOurs('l')} AND v_at >= l.deadline + ${milliseconds('l.grace_ms')}
      ORDER BY l.name FOR UPDATE SKIP LOCKED) AS q;
    v_at := clock_timestamp();
    IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('v_at')}, 'late', true); END IF;
    ${judge};
    v_floor := greatest(v_last + 1, floor(${unixMs('v_at')})::bigint);
    IF greatest(v_floor, (SELECT max(a) FROM unnest(aboves) AS a) + 1) > ${highestTerm} THEN
      RETURN json_build_object('now', ${unixMs('v_at')}, 'exhausted', v_last);
    END IF;
  END IF;
  IF v_free IS NOT NULL THEN
    v_term := greatest(v_floor, (SELECT max(aboves[i]) FROM unnest(v_free) AS i) + 1);
    UPDATE ${schema}.namespaces SET last_term = v_term WHERE namespace = space;
    UPDATE ${schema}.history AS h SET (ended_at, end_reason) = (
      SELECT coalesce(max(l.deadline), v_at),
        CASE WHEN max(l.deadline) IS NULL THEN 'vanished' WHEN max(l.revoked_at) IS NULL THEN 'expired' ELSE 'revoked' END
      FROM ${schema}.leases AS l WHERE l.namespace = space AND l.name = h.name AND l.kind = 'lease' AND l.term = h.term)
    WHERE h.namespace = space AND h.name = ANY (ARRAY(SELECT names[i] FROM unnest(v_free) AS i)) AND h.kind = 'term' AND h.ended_at IS NULL;
    INSERT INTO ${schema}.leases AS l (namespace, name, name_group, kind, term, holder, attempt, ttl_ms, grace_ms,
      deadline, granted_at, renewed_at, metadata)
    SELECT space, names[i], CASE WHEN strpos(names[i], '/') = 0 THEN '' ELSE regexp_replace(names[i], '/[^/]*$', '') END,
      'lease', v_term, holders[i], attempts[i], ttls[i], graces[i], v_at + ${milliseconds('ttls[i]')}, v_at, v_at, metadatas[i]
    FROM unnest(v_free) AS i
    ON CONFLICT (namespace, name) DO UPDATE SET (kind, term, holder, attempt, ttl_ms, grace_ms, deadline, granted_at,
      renewed_at, metadata, revoked_at, revoked_by, revoked_reason, reserved_to, reserve_ms)
    = (excluded.kind, excluded.term, excluded.holder, excluded.attempt, excluded.ttl_ms, excluded.grace_ms, excluded.deadline,
      excluded.granted_at, excluded.renewed_at, excluded.metadata, NULL, NULL, NULL, NULL, 0);
    FOR v_kept IN SELECT names[i] AS name, split_part(holders[i], ':', 1) AS id FROM unnest(v_free) AS i WHERE keeps[i] LOOP
      PERFORM ${schema}.note(space, v_kept.name, 'term', v_at, v_term, v_kept.id, NULL, NULL, NULL, NULL);
      PERFORM pg_notify(channel, '|' || v_kept.name);
    END LOOP;
    swept := ${schema}.sweep(space, swept, v_at);
  END IF;
  RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'swept', swept, 'mended', v_mended, 'answers',
    (SELECT json_agg(coalesce(u.a, json_build_array('granted', v_term)) ORDER BY u.ord) FROM unnest(v_answers) WITH ORDINALITY AS u(a, ord)));
END`,
  );
}
