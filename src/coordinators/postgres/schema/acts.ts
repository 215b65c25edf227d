import { unixMs } from './shared.js';
import { operation } from './sql-function.js';

/**
 * What operators do, and what is remembered. All of it enters the namespace first, as a grant does, and an act writes its
 * row: a grant that waits for it under REPEATABLE READ still sees what was there before, and is refused for that row.
 */
export function actFunctions(schema: string): string {
  return [revoke(schema), suspend(schema), resume(schema), history(schema)].join('\n');
}

const late = (schema: string) =>
  `IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('clock_timestamp()')}, 'late', true); END IF;`;

/** The beginning of each act. */
const enter = (schema: string) => `${late(schema)}
  PERFORM ${schema}.settle(not_after);
  PERFORM ${schema}.enter(space);
  UPDATE ${schema}.namespaces SET last_term = last_term WHERE namespace = space;
  SELECT * INTO l FROM ${schema}.leases AS o WHERE o.namespace = space AND o.name = asked FOR NO KEY UPDATE;
  v_at := clock_timestamp();
  ${late(schema)}
  v_is_live := l.kind IS NOT DISTINCT FROM 'lease' AND v_at < l.deadline;
  SELECT * INTO s FROM ${schema}.suspensions AS o WHERE o.namespace = space AND o.name = asked;`;

const declare = (schema: string) => `DECLARE
  l ${schema}.leases;
  s ${schema}.suspensions;
  v_at timestamptz;
  v_is_live boolean;`;

const answer = (
  schema: string,
) => `SELECT * INTO l FROM ${schema}.leases AS o WHERE o.namespace = space AND o.name = asked;
  SELECT * INTO s FROM ${schema}.suspensions AS o WHERE o.namespace = space AND o.name = asked;
  RETURN json_build_object('now', ${unixMs('v_at')}, 'answers', ${schema}.seen(l, s, v_at));`;

/**
 * In: a name, the term that is meant (null: whichever stands there), who and why, the successor and for how long; the
 * channel to tell.
 * Out: what is seen afterwards.
 * Keeps true: the same revocation again changes nothing and leaves no second line.
 */
function revoke(schema: string): string {
  return operation(
    `${schema}.revoke(space text, not_after double precision, channel text, asked text, meant bigint, who text, why text,
  successor text, reserve integer)`,
    'json',
    `${declare(schema)}
BEGIN
  ${enter(schema)}
  IF v_is_live AND s.name IS NULL AND l.term = coalesce(meant, l.term) AND (l.revoked_at IS NULL OR
    (l.revoked_by, l.revoked_reason, l.reserved_to, l.reserve_ms) IS DISTINCT FROM (who, why, successor, reserve))
  THEN
    UPDATE ${schema}.leases SET revoked_at = v_at, revoked_by = who, revoked_reason = why, reserved_to = successor, reserve_ms = reserve
    WHERE namespace = space AND name = asked;
    PERFORM ${schema}.note(space, asked, 'act', v_at, NULL, NULL, 'revoke', who, why, successor);
    PERFORM pg_notify(channel, '|' || asked);
  END IF;
  ${answer(schema)}
END`,
  );
}

/**
 * In: a name, its group, who and why; the channel to tell.
 * Out: what is seen afterwards.
 * Keeps true: no grant is under way meanwhile, so whatever was granted before it is revoked, and nothing after it granted.
 */
function suspend(schema: string): string {
  return operation(
    `${schema}.suspend(space text, not_after double precision, channel text, asked text, in_group text, who text, why text)`,
    'json',
    `${declare(schema)}
  v_last record;
  v_is_ending boolean;
BEGIN
  ${enter(schema)}
  SELECT h.acted_by, h.reason INTO v_last FROM ${schema}.history AS h
  WHERE h.namespace = space AND h.name = asked AND h.kind = 'act' ORDER BY h.line DESC LIMIT 1;
  IF NOT FOUND THEN SELECT s.suspended_by, s.reason INTO v_last; END IF;
  IF s.name IS NULL OR v_last IS DISTINCT FROM ROW(who, why) THEN
    PERFORM ${schema}.note(space, asked, 'act', v_at, NULL, NULL, 'suspend', who, why, NULL);
  END IF;
  IF s.name IS NULL THEN
    INSERT INTO ${schema}.suspensions VALUES (space, asked, in_group, who, why, v_at);
  END IF;
  v_is_ending := v_is_live AND l.revoked_at IS NULL;
  IF v_is_ending THEN
    UPDATE ${schema}.leases SET revoked_at = v_at, revoked_by = who, revoked_reason = why WHERE namespace = space AND name = asked;
  END IF;
  IF v_is_ending OR s.name IS NULL THEN PERFORM pg_notify(channel, '|' || asked); END IF;
  ${answer(schema)}
END`,
  );
}

/** In: a name, who and why; the channel to tell. Out: whether it was suspended. */
function resume(schema: string): string {
  return operation(
    `${schema}.resume(space text, not_after double precision, channel text, asked text, who text, why text)`,
    'json',
    `${declare(schema)}
BEGIN
  ${enter(schema)}
  IF s.name IS NOT NULL THEN
    DELETE FROM ${schema}.suspensions WHERE namespace = space AND name = asked;
    PERFORM ${schema}.note(space, asked, 'act', v_at, NULL, NULL, 'resume', who, why, NULL);
    PERFORM ${schema}.tell(channel, space, asked);
  END IF;
  RETURN json_build_object('now', ${unixMs('v_at')}, 'answers', s.name IS NOT NULL);
END`,
  );
}

/**
 * In: a name. Out: its lines, oldest first.
 * Keeps true: a term whose record somebody removed ends when that is noticed, and only then; one that ran out has ended
 * at its deadline.
 */
function history(schema: string): string {
  return operation(
    `${schema}.history_of(space text, not_after double precision, asked text)`,
    'json',
    `DECLARE
  l ${schema}.leases;
  v_at timestamptz;
BEGIN
  ${late(schema)}
  PERFORM ${schema}.settle(not_after);
  IF EXISTS (SELECT FROM ${schema}.history AS h WHERE h.namespace = space AND h.name = asked AND h.kind = 'term' AND h.ended_at IS NULL) THEN
    -- So that no grant is under way whose line is there and its lease not yet seen.
    PERFORM ${schema}.enter(space);
  END IF;
  SELECT * INTO l FROM ${schema}.leases AS o WHERE o.namespace = space AND o.name = asked;
  v_at := clock_timestamp();
  UPDATE ${schema}.history AS h SET ended_at = v_at, end_reason = 'vanished'
  WHERE h.namespace = space AND h.name = asked AND h.kind = 'term' AND h.ended_at IS NULL
    AND (l.kind IS DISTINCT FROM 'lease' OR l.term IS DISTINCT FROM h.term);
  RETURN json_build_object('now', ${unixMs('v_at')}, 'answers', (
    SELECT coalesce(json_agg(json_build_object('kind', h.kind, 'atMs', ${unixMs('h.noted_at')}, 'term', h.term, 'holderId', h.holder_id,
      'endedAtMs', ${unixMs('CASE WHEN h.ended_at IS NULL AND v_at >= l.deadline THEN l.deadline ELSE h.ended_at END')},
      'endReason', CASE WHEN h.kind <> 'term' OR h.ended_at IS NOT NULL THEN h.end_reason
        WHEN v_at < l.deadline THEN NULL WHEN l.revoked_at IS NULL THEN 'expired' ELSE 'revoked' END,
      'act', h.act, 'by', h.acted_by, 'reason', h.reason, 'to', h.successor) ORDER BY h.line), '[]')
    FROM ${schema}.history AS h WHERE h.namespace = space AND h.name = asked));
END`,
  );
}
