import { isOurs, lateState, milliseconds, overAt, unixMs } from './shared.js';
import { operation } from './sql-function.js';
import { mendWhere } from './upkeep.js';

/** What changes nothing, but for deadlines that cannot be true; and documents. */
export function readFunctions(schema: string): string {
  return [
    read(schema),
    list(schema),
    news(schema),
    readDocument(schema),
    writeDocument(schema),
  ].join('\n');
}

/** In: names. Out: what is seen of each, in their order; names that were mended. */
function read(schema: string): string {
  return operation(
    `${schema}.read(space text, names text[])`,
    'json',
    `DECLARE
  v_at timestamptz;
  v_ahead text[];
  v_mended text[];
BEGIN
  ${mendWhere(schema, 'l.name = ANY (names)')}
  v_at := clock_timestamp();
  RETURN json_build_object('now', ${unixMs('v_at')}, 'mended', v_mended, 'answers', (
    SELECT json_agg(${schema}.seen(l, s, v_at) ORDER BY r.ord) FROM unnest(names) WITH ORDINALITY AS r(name, ord)
    LEFT JOIN ${schema}.leases AS l ON l.namespace = space AND l.name = r.name
    LEFT JOIN ${schema}.suspensions AS s ON s.namespace = space AND s.name = r.name));
END`,
  );
}

/** The names of a group, or of several, of which there is a row. */
const namesIn = (schema: string, group: string) =>
  `(SELECT o.name FROM ${schema}.leases AS o WHERE o.namespace = space AND o.name_group ${group}
      UNION SELECT o.name FROM ${schema}.suspensions AS o WHERE o.namespace = space AND o.name_group ${group})`;

/** In: a group. Out: what is seen of each of its names that is not free; names that were mended. */
function list(schema: string): string {
  return operation(
    `${schema}.list(space text, in_group text)`,
    'json',
    `DECLARE
  v_at timestamptz;
  v_ahead text[];
  v_mended text[];
BEGIN
  ${mendWhere(schema, 'l.name_group = in_group')}
  v_at := clock_timestamp();
  RETURN json_build_object('now', ${unixMs('v_at')}, 'mended', v_mended, 'answers', (
    SELECT coalesce(json_agg(${schema}.seen(l, s, v_at)), '[]')
    FROM ${namesIn(schema, '= in_group')} AS n
    LEFT JOIN ${schema}.leases AS l ON l.namespace = space AND l.name = n.name
    LEFT JOIN ${schema}.suspensions AS s ON s.namespace = space AND s.name = n.name
    WHERE s.name IS NOT NULL OR NOT ${isOurs('l')} OR v_at < ${overAt('l')}));
END`,
  );
}

/**
 * What somebody who listens would want to know, for those who hear no notifications.
 *
 * In: groups; digests of holders that wait.
 * Out: `names`: for each name of the groups that is not free `[name, what stands there, ms until that ends]`, where a
 * renewal changes nothing but the last. `waits`: for each name that one of the holders waits for `[digest, name,
 * how often it was called to it, its place then, its place now among those who may have it or null, ms until that may
 * change]`.
 */
function news(schema: string): string {
  const endsIn = `date_part('epoch', CASE
      WHEN v_at < l.deadline THEN l.deadline
      WHEN v_at < l.deadline + ${milliseconds('l.grace_ms')} THEN l.deadline + ${milliseconds('l.grace_ms')}
      WHEN v_at < ${overAt('l')} THEN ${overAt('l')} END - v_at) * 1000`;
  return operation(
    `${schema}.news(space text, groups text[], digests text[])`,
    'json',
    `DECLARE
  v_at timestamptz := clock_timestamp();
BEGIN
  RETURN json_build_object('now', ${unixMs('v_at')},
    'names', (
      SELECT coalesce(json_agg(json_build_array(n.name,
        concat_ws(' ', s.suspended_at, l.kind, l.term, l.revoked_at, l.reserved_to, v_at < l.deadline, v_at < l.deadline + ${milliseconds('l.grace_ms')}),
        CASE WHEN ${isOurs('l')} THEN ${endsIn} END)), '[]')
      FROM ${namesIn(schema, '= ANY (groups)')} AS n
      LEFT JOIN ${schema}.leases AS l ON l.namespace = space AND l.name = n.name
      LEFT JOIN ${schema}.suspensions AS s ON s.namespace = space AND s.name = n.name
      WHERE s.name IS NOT NULL OR NOT ${isOurs('l')} OR v_at < ${overAt('l')}),
    'waits', (
      SELECT coalesce(json_agg(json_build_array(c.digest, c.name, c.call_count, c.call_place, CASE WHEN strpos(q.callers, c.digest) > 0 THEN (strpos(q.callers, c.digest) - 1) / 33 END,
        CASE WHEN ${isOurs('l')} THEN ${endsIn} END)), '[]')
      FROM ${schema}.candidates AS c LEFT JOIN ${schema}.leases AS l ON l.namespace = space AND l.name = c.name
      CROSS JOIN LATERAL (SELECT ${schema}.callers(space, c.name, v_at) AS callers) AS q
      WHERE c.namespace = space AND c.digest = ANY (digests) AND c.standing = 'waiting' AND c.deadline > v_at));
END`,
  );
}

/** In: a name. Out: `[version, text in UTF-8 and base 64]` of its document; null if there is none. */
function readDocument(schema: string): string {
  return operation(
    `${schema}.read_document(space text, asked text)`,
    'json',
    `BEGIN
  RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'answers', ${documentOf(schema)});
END`,
  );
}

const documentOf = (schema: string) =>
  `(SELECT json_build_array(d.version, encode(d.body, 'base64')) FROM ${schema}.documents AS d WHERE d.namespace = space AND d.name = asked)`;

/**
 * In: a name, a text in UTF-8, and the version that has to stand there (0: none).
 * Out: the version it has now; or what stands there instead, as `read_document` answers.
 */
function writeDocument(schema: string): string {
  return operation(
    `${schema}.write_document(space text, not_after double precision, asked text, new_body bytea, expected bigint)`,
    'json',
    `DECLARE
  v_written bigint;
BEGIN
  IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'late', true); END IF;
  PERFORM ${schema}.settle(not_after);
  IF expected = 0 THEN
    INSERT INTO ${schema}.documents AS d VALUES (space, asked, 1, new_body) ON CONFLICT DO NOTHING RETURNING d.version INTO v_written;
  ELSE
    UPDATE ${schema}.documents AS d SET version = expected + 1, body = new_body
    WHERE d.namespace = space AND d.name = asked AND d.version = expected RETURNING d.version INTO v_written;
  END IF;
  IF v_written IS NULL THEN
    RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'conflict', true, 'answers', ${documentOf(schema)});
  END IF;
  -- It waited for somebody's lock until then: what it did is undone.
  IF ${schema}.is_late(not_after) THEN RAISE EXCEPTION 'tenure: too late' USING ERRCODE = '${lateState}'; END IF;
  RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'answers', v_written);
END`,
  );
}
