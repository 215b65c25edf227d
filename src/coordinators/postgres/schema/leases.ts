import { highestTerm } from '../../term.js';
import { isOurs, lateState, milliseconds, overAt, unixMs } from './shared.js';
import { operation, sqlFunction } from './sql-function.js';

/** How far a deadline may lie beyond what its own ttl allows before the server's clock counts as set back. */
const clockSlack = `interval '1 second'`;

/** What takes, extends and ends leases. */
export function leaseFunctions(schema: string): string {
  return [
    acquire(schema),
    mend(schema),
    sweep(schema),
    renew(schema),
    finish(schema),
    stands(schema),
  ].join('\n');
}

/** Whether row \`l\`, if there is one, leaves the name to the holder of \`r\` at the time \`v_at\`. */
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
function acquire(schema: string): string {
  const judge = `SELECT array_agg(q.ord::int ORDER BY q.ord) FILTER (WHERE q.is_free), array_agg(q.answer ORDER BY q.ord),
      coalesce(bool_or(q.is_ahead), false)
    INTO v_free, v_answers, v_ahead FROM (
    SELECT r.ord, w.is_free, CASE
        WHEN w.is_free THEN NULL
        WHEN l.name IS NOT NULL AND NOT ${isOurs('l')} THEN json_build_array('foreign')
        WHEN s.name IS NULL AND l.kind = 'lease' AND v_at < l.deadline AND l.holder = r.holder AND l.attempt = r.attempt
          AND l.revoked_at IS NULL THEN json_build_array('granted', l.term)
        ELSE json_build_array('held', ${schema}.seen(l, s, v_at)) END AS answer,
      ${isOurs('l')} AND l.deadline > v_at + ${milliseconds('l.ttl_ms')} + ${clockSlack} AS is_ahead
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

/**
 * Cuts deadlines that lie beyond what their own ttl allows: the server's clock was set back since they were written.
 *
 * Out: the names.
 * Keeps true: nobody's lease becomes shorter than its ttl from now.
 */
function mend(schema: string): string {
  return sqlFunction(`${schema}.mend(space text, names text[])`, 'text[]', {
    body: `WITH ahead AS (
    SELECT l.namespace, l.name FROM ${schema}.leases AS l WHERE l.namespace = space AND l.name = ANY (names) AND ${isOurs('l')}
      AND l.deadline > clock_timestamp() + ${milliseconds('l.ttl_ms')} + ${clockSlack}
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
function sweep(schema: string): string {
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

/**
 * Extends leases.
 *
 * In: for each request, sorted by name, name, holder, term, ttl and metadata (null: as it is); a list of holders, terms or
 * ttls with one entry stands for all.
 * Out: \`failed\`: for each one that was not extended its place, from 1 on, and why.
 * Clock: read for each row, and once more for a row that another transaction had changed while this one waited for it. What
 * the row tells as the time of its renewal is that of the call.
 * Keeps true: one statement for any number of leases. It compares holder and term on the newest version of the row. Only
 * rows of the caller's own are locked, so it can wait for nothing but another call of the same holder.
 * Planned anew each time: a plan that does not know the length of the list compares every lease with every request.
 */
function renew(schema: string): string {
  const isAsked =
    'l.holder = coalesce(r.holder, holders[1]) AND l.term = coalesce(r.term, terms[1])';
  return operation(
    `${schema}.renew(space text, not_after double precision, names text[], holders text[], terms bigint[], ttls integer[], metadatas text[])`,
    'json',
    `DECLARE
  v_mark timestamptz := clock_timestamp();
  v_at timestamptz;
  v_count int;
BEGIN
  IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('v_mark')}, 'late', true); END IF;
  PERFORM ${schema}.settle(not_after);
  UPDATE ${schema}.leases AS l SET
    deadline = clock_timestamp() + ${milliseconds('coalesce(r.ttl, ttls[1])')}, renewed_at = v_mark, ttl_ms = coalesce(r.ttl, ttls[1]),
    metadata = coalesce(r.metadata, l.metadata)
  FROM unnest(names, holders, terms, ttls, metadatas) AS r(name, holder, term, ttl, metadata)
  WHERE l.namespace = space AND l.name = r.name AND l.kind = 'lease' AND ${isAsked}
    AND l.revoked_at IS NULL AND l.deadline > clock_timestamp();
  GET DIAGNOSTICS v_count = ROW_COUNT;
  v_at := clock_timestamp();
  -- It waited for somebody's lock until then: what it did is undone.
  IF ${schema}.is_late(not_after) THEN RAISE EXCEPTION 'tenure: too late' USING ERRCODE = '${lateState}'; END IF;
  IF v_count = cardinality(names) THEN RETURN json_build_object('now', ${unixMs('v_at')}); END IF;
  RETURN json_build_object('now', ${unixMs('v_at')}, 'failed', (
    SELECT json_agg(json_build_array(r.ord, ${whyNotYours(isAsked, 'true')}))
    FROM unnest(names, holders, terms) WITH ORDINALITY AS r(name, holder, term, ord)
    LEFT JOIN ${schema}.leases AS l ON l.namespace = space AND l.name = r.name
    WHERE (l.renewed_at = v_mark AND ${isAsked}) IS NOT TRUE));
END`,
    ['plan_cache_mode = force_custom_plan'],
  );
}

/** Why row \`l\` is not the caller's to change at \`v_at\`; null if it is. A lease in its lock-delay has expired. */
function whyNotYours(isOwn: string, refusesRevoked: string): string {
  return `CASE
      WHEN l.name IS NULL OR ${isOurs('l')} AND v_at >= ${overAt('l')} THEN 'vanished'
      WHEN l.kind = 'lease' AND v_at >= l.deadline AND v_at < l.deadline + ${milliseconds('l.grace_ms')} THEN 'vanished'
      WHEN l.kind <> 'lease' OR v_at >= l.deadline OR (${isOwn}) IS NOT TRUE THEN 'superseded'
      WHEN l.revoked_at IS NOT NULL AND (${refusesRevoked}) THEN 'revoked'
      END`;
}

/**
 * Ends leases: by a release, or by a handoff if there is a successor.
 *
 * In: for each request name, holder, term or attempt, reason, successor and for how long; the channel to tell.
 * Out: for each request \`ended\` or why not, in their order.
 * Clock: read after the rows are locked.
 * Keeps true: rows are locked in the order of their names. It waits for transactions that have checked the lease and
 * have not ended, since what they write belongs to it.
 */
function finish(schema: string): string {
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

/**
 * Whether a lease still stands, for a transaction that writes to this same database under it.
 *
 * In: a name, a term and the holder's digest: the first 32 hexadecimal digits of the SHA-256 of \`id:nonce\`.
 * Out: null if it stands; else how it has ended.
 * Clock: read after the row is locked.
 * Keeps true: until the transaction ends, nobody else is granted the name, be the lease's time over or not; its holder's
 * renewals go on.
 */
function stands(schema: string): string {
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
