import { milliseconds, unixMs } from './shared.js';
import { operation } from './sql-function.js';
import { mendWhere } from './upkeep.js';

/** Who waits, and who else is there. */
export function candidateFunctions(schema: string): string {
  return [enroll(schema), withdraw(schema), candidates(schema)].join('\n');
}

/**
 * Enters candidates, or refreshes their entries.
 *
 * In: for each request name, the holder's digest and id, standing, preference, ttl and metadata.
 * Out: for each request `[place in the queue or null, what is seen, whether there is a duplicate]`, in their order; names that
 * were mended.
 * Clock: read after the rows are locked.
 * Keeps true: whoever begins to wait is either seen by the release that is under way, or sees that it has happened: both
 * lock the lease's row. A refresh locks nothing of it.
 * Keeps true: `since` and `refresh` are numbers of a sequence, not times, so a step of the clock moves nobody in a queue.
 * After a crash they may repeat, which costs a place and nothing else.
 */
function enroll(schema: string): string {
  return operation(
    `${schema}.enroll(space text, not_after double precision, names text[], digests text[], ids text[], standings text[],
  preferences integer[], ttls integer[], metadatas text[])`,
    'json',
    `DECLARE
  v_at timestamptz;
  v_new text[];
  v_before bigint[];
  v_ahead text[];
  v_mended text[];
BEGIN
  IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'late', true); END IF;
  PERFORM ${schema}.settle(not_after);
  SELECT array_agg(r.name) INTO v_new FROM unnest(names, digests, standings) AS r(name, digest, standing)
  WHERE r.standing = 'waiting' AND NOT EXISTS (
    SELECT FROM ${schema}.candidates AS c WHERE c.namespace = space AND c.name = r.name AND c.digest = r.digest
      AND c.standing = 'waiting' AND c.deadline > clock_timestamp());
  PERFORM 1 FROM ${schema}.leases AS l WHERE l.namespace = space AND l.name = ANY (v_new) ORDER BY l.name FOR KEY SHARE;
  ${mendWhere(schema, 'l.name = ANY (names)')}
  v_at := clock_timestamp();
  IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('v_at')}, 'late', true); END IF;
  SELECT array_agg(c.refresh ORDER BY r.ord) INTO v_before
  FROM unnest(names, digests) WITH ORDINALITY AS r(name, digest, ord)
  LEFT JOIN ${schema}.candidates AS c ON c.namespace = space AND c.name = r.name AND c.digest = r.digest AND c.deadline > v_at;
  INSERT INTO ${schema}.candidates AS c (namespace, name, digest, id, standing, preference, since, since_at, refresh, deadline, metadata)
  SELECT space, r.name, r.digest, r.id, r.standing, r.preference, n.number, v_at, n.number, v_at + ${milliseconds('r.ttl')}, r.metadata
  FROM unnest(names, digests, ids, standings, preferences, ttls, metadatas) AS r(name, digest, id, standing, preference, ttl, metadata)
  CROSS JOIN LATERAL (SELECT nextval('${schema}.enrollments') AS number WHERE r.name IS NOT NULL) AS n
  ON CONFLICT (namespace, name, digest) DO UPDATE SET
    since = CASE WHEN c.standing = excluded.standing AND c.deadline > v_at THEN c.since ELSE excluded.since END,
    since_at = CASE WHEN c.standing = excluded.standing AND c.deadline > v_at THEN c.since_at ELSE excluded.since_at END,
    standing = excluded.standing, preference = excluded.preference, refresh = excluded.refresh, deadline = excluded.deadline,
    metadata = excluded.metadata;
  RETURN json_build_object('now', ${unixMs('v_at')}, 'mended', v_mended, 'answers', (
    SELECT json_agg(json_build_array(p.place, ${schema}.seen(l, s, v_at), d.is_there) ORDER BY r.ord)
    FROM unnest(names, digests, ids, v_before) WITH ORDINALITY AS r(name, digest, id, before, ord)
    LEFT JOIN ${schema}.leases AS l ON l.namespace = space AND l.name = r.name
    LEFT JOIN ${schema}.suspensions AS s ON s.namespace = space AND s.name = r.name
    CROSS JOIN LATERAL (
      SELECT max(q.place) - 1 AS place FROM (
        SELECT c.digest, row_number() OVER (ORDER BY c.preference DESC, c.since, c.id, c.digest) AS place
        FROM ${schema}.candidates AS c
        WHERE c.namespace = space AND c.name = r.name AND c.standing = 'waiting' AND c.deadline > v_at) AS q
      WHERE q.digest = r.digest) AS p
    CROSS JOIN LATERAL (
      SELECT r.before IS NOT NULL AND EXISTS (
        SELECT FROM ${schema}.candidates AS c WHERE c.namespace = space AND c.name = r.name AND c.id = r.id
          AND c.digest <> r.digest AND c.refresh > r.before AND c.deadline > v_at) AS is_there) AS d));
END`,
  );
}

/** In: for each request name and digest. */
function withdraw(schema: string): string {
  return operation(
    `${schema}.withdraw(space text, not_after double precision, names text[], digests text[])`,
    'json',
    `BEGIN
  IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'late', true); END IF;
  PERFORM ${schema}.settle(not_after);
  DELETE FROM ${schema}.candidates AS c
  WHERE c.namespace = space AND c.name = ANY (names) AND c.digest = digests[array_position(names, c.name)];
  RETURN json_build_object('now', ${unixMs('clock_timestamp()')});
END`,
  );
}

/** In: a name. Out: its entries, in no order. */
function candidates(schema: string): string {
  return operation(
    `${schema}.candidates_of(space text, asked text)`,
    'json',
    `DECLARE
  v_at timestamptz := clock_timestamp();
BEGIN
  RETURN json_build_object('now', ${unixMs('v_at')}, 'answers', (
    SELECT coalesce(json_agg(json_build_object('id', c.id, 'digest', c.digest, 'standing', c.standing, 'preference', c.preference,
      'since', c.since, 'sinceMs', ${unixMs('c.since_at')}, 'leftMs', date_part('epoch', c.deadline - v_at) * 1000,
      'metadata', c.metadata)), '[]')
    FROM ${schema}.candidates AS c WHERE c.namespace = space AND c.name = asked AND c.deadline > v_at));
END`,
  );
}
