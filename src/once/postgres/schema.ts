import { lateState, unixMs } from '../../coordinators/postgres/schema/shared.js';
import { operation, sqlFunction } from '../../coordinators/postgres/schema/sql-function.js';
import { settlementCount } from '../records.js';
import { overdueDetail } from '../rules/decisions.js';
import { highestAttempt, latestMs, longestEffectMs } from '../rules/sound.js';

/*
 * The table of keys and the functions on it, in the schema of the leases, whose `is_late` and `settle` they call. All times
 * are Unix times in milliseconds by the server's clock, read after the row is locked. A key that is `started` is unknown
 * from its deadline on, and one that has expired is as good as absent, so that nothing has to happen at either time.
 */

/** The part of the schema's `versions` that this is. */
export const part = 'once';
export const schemaVersion = 1;

/** Creates all of it. @param schema quoted. */
export function createOnce(schema: string): string {
  return [
    table(schema),
    shared(schema),
    begin(schema),
    end(schema),
    settle(schema),
    reads(schema),
    `INSERT INTO ${schema}.versions (part, version) VALUES ('${part}', ${schemaVersion})`,
  ].join('\n');
}

function table(schema: string): string {
  return `CREATE TABLE ${schema}.once_keys (
  namespace text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  state text NOT NULL CHECK (state IN ('started', 'done', 'unknown', 'free')),
  attempt integer NOT NULL,
  owner text NOT NULL,
  started_by text NOT NULL,
  started_ms bigint NOT NULL,
  deadline_ms bigint NOT NULL,
  ended_ms bigint,
  expires_ms bigint,
  result text,
  detail text,
  settlements jsonb NOT NULL DEFAULT '[]',
  PRIMARY KEY (namespace, key)
);
CREATE INDEX once_keys_open ON ${schema}.once_keys (namespace, deadline_ms, key) WHERE state IN ('started', 'unknown');
CREATE INDEX once_keys_expiry ON ${schema}.once_keys (namespace, expires_ms) WHERE expires_ms IS NOT NULL;
`;
}

const now = `floor(${unixMs('clock_timestamp()')})::bigint`;
const late = (schema: string) =>
  `IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${now}, 'late', true); END IF;`;
const answer = (schema: string, outcome: string, row = 'r') =>
  `RETURN json_build_object('now', v_at, 'outcome', ${outcome}, 'record', ${schema}.once_seen(${row}, v_at));`;

const corrupt = (schema: string) =>
  `IF NOT ${schema}.once_sound(r) THEN RETURN json_build_object('now', v_at, 'outcome', 'corrupt'); END IF;`;
/**
 * The assignments that let an attempt of row `o` count from now on: the clock was set back since it began, so nobody can
 * tell how much of its time is over.
 */
const counted = `started_ms = v_at, deadline_ms = greatest(0, o.deadline_ms - (o.started_ms - v_at)),
    expires_ms = CASE WHEN o.expires_ms IS NOT NULL THEN greatest(0, o.expires_ms - (o.started_ms - v_at)) END`;
const recount = (schema: string) =>
  `UPDATE ${schema}.once_keys AS o SET ${counted} WHERE o.namespace = space AND o.key = r.key RETURNING * INTO r;`;

function shared(schema: string): string {
  const isMoment = (column: string) => `r.${column} BETWEEN 0 AND ${latestMs}`;
  const isMomentIfAny = (column: string) => `(r.${column} IS NULL OR ${isMoment(column)})`;
  return [
    /*
     * In: a row (null: none). Out: whether it can be true; null if there is none.
     */
    sqlFunction(`${schema}.once_sound(r ${schema}.once_keys)`, 'boolean', {
      volatility: 'STABLE',
      body: `SELECT CASE WHEN r.key IS NULL THEN NULL
    WHEN r.attempt BETWEEN 1 AND ${highestAttempt} AND ${isMoment('started_ms')} AND ${isMoment('deadline_ms')}
      AND ${isMomentIfAny('ended_ms')} AND ${isMomentIfAny('expires_ms')} AND jsonb_typeof(r.settlements) = 'array'
    THEN r.deadline_ms - r.started_ms <= ${longestEffectMs} AND (r.settlements = '[]' OR NOT EXISTS (
      SELECT FROM jsonb_array_elements(r.settlements) AS l(line) WHERE NOT coalesce(jsonb_typeof(line) = 'object'
        AND line->'attempt' BETWEEN '1' AND '${highestAttempt}' AND line->>'outcome' IN ('done', 'not-applied', 'repeated')
        AND line->'atMs' BETWEEN '0' AND '${latestMs}'
        AND jsonb_typeof(line->'by') = 'string' AND jsonb_typeof(line->'reason') = 'string', false)))
    ELSE false END`,
    }),
    /*
     * In: a row (null: none), the time. Out: what it means then; null if that is nothing.
     */
    sqlFunction(`${schema}.once_state(r ${schema}.once_keys, at bigint)`, 'text', {
      volatility: 'STABLE',
      body: `SELECT CASE
    WHEN r.state = 'started' AND at < r.deadline_ms THEN 'started'
    WHEN r.expires_ms <= at THEN NULL
    WHEN r.state = 'started' THEN 'unknown'
    ELSE r.state END`,
    }),
    /*
     * In: a row, the time. Out: what everybody may see of it: all but the owner.
     */
    sqlFunction(`${schema}.once_seen(r ${schema}.once_keys, at bigint)`, 'json', {
      volatility: 'STABLE',
      body: `SELECT CASE WHEN s.state IS NOT NULL THEN json_build_object('key', r.key, 'state', s.state, 'attempt', r.attempt,
    'startedBy', r.started_by, 'startedAtMs', r.started_ms, 'deadlineAtMs', r.deadline_ms,
    'remainingMs', CASE WHEN s.state = 'started' THEN least(r.deadline_ms - at, greatest(0, r.deadline_ms - r.started_ms)) ELSE 0 END,
    'endedAtMs', CASE WHEN s.state = r.state THEN r.ended_ms ELSE r.deadline_ms END,
    'expiresAtMs', r.expires_ms, 'result', r.result,
    'detail', CASE WHEN s.state = r.state THEN r.detail ELSE '${overdueDetail}' END, 'settlements', r.settlements) END
  FROM (SELECT ${schema}.once_state(r, at) AS state) AS s`,
    }),
    /*
     * In: a row, what was decided about its attempt, by whom and why, the time. Out: its settlements with this one.
     */
    sqlFunction(
      `${schema}.once_settled(r ${schema}.once_keys, outcome text, who text, why text, at bigint)`,
      'jsonb',
      {
        volatility: 'STABLE',
        body: `SELECT jsonb_agg(q.line ORDER BY q.place) FROM (
    SELECT line, place FROM jsonb_array_elements(r.settlements || jsonb_build_object(
      'attempt', r.attempt, 'outcome', outcome, 'by', who, 'reason', why, 'atMs', at)) WITH ORDINALITY AS l(line, place)
    ORDER BY place DESC LIMIT ${settlementCount}) AS q`,
      },
    ),
  ].join('\n');
}

/**
 * Begins an attempt.
 *
 * In: the key; the nonce, and who; its time; how long it is kept if it stays unknown (null: for ever); the attempt and the
 * start of the one that may be repeated (null: none), who says so and why.
 * Out: `begun`, `done`, `under-way`, `unknown` or `spent`, and the row as it stands.
 * Keeps true: of many who begin, one does. What is done is never begun again, and what is unknown only by its number.
 * Keeps true: who is not to begin is told without any lock or write; but once, after the clock was set back.
 */
function begin(schema: string): string {
  return operation(
    `${schema}.once_begin(space text, not_after double precision, asked text, nonce text, who text, timeout_ms bigint,
  keep_ms bigint, of_attempt integer, of_start bigint, acted_by text, reason text)`,
    'json',
    `DECLARE
  r ${schema}.once_keys;
  v_at bigint;
  v_state text;
  v_settlements jsonb;
  v_is_locked boolean := false;
BEGIN
  ${late(schema)}
  LOOP
    IF v_is_locked THEN
      SELECT * INTO r FROM ${schema}.once_keys AS o WHERE o.namespace = space AND o.key = asked FOR UPDATE;
    ELSE
      SELECT * INTO r FROM ${schema}.once_keys AS o WHERE o.namespace = space AND o.key = asked;
    END IF;
    v_at := ${now};
    IF r.key IS NULL THEN
      PERFORM ${schema}.settle(not_after);
      INSERT INTO ${schema}.once_keys AS o (namespace, key, state, attempt, owner, started_by, started_ms, deadline_ms, expires_ms)
      VALUES (space, asked, 'started', 1, nonce, who, v_at, v_at + timeout_ms, v_at + timeout_ms + keep_ms)
      ON CONFLICT (namespace, key) DO NOTHING RETURNING * INTO r;
      IF ${schema}.is_late(not_after) THEN RAISE EXCEPTION 'tenure: too late' USING ERRCODE = '${lateState}'; END IF;
      IF r.key IS NOT NULL THEN ${answer(schema, "'begun'")} END IF;
      CONTINUE;
    END IF;
    ${corrupt(schema)}
    IF r.state = 'started' AND r.started_ms > v_at THEN
      IF v_is_locked THEN
        ${recount(schema)}
      ELSE
        PERFORM ${schema}.settle(not_after);
        v_is_locked := true;
        CONTINUE;
      END IF;
    END IF;
    v_state := ${schema}.once_state(r, v_at);
    IF v_state IS NOT NULL AND r.owner = nonce THEN
      ${answer(schema, "CASE WHEN r.state = 'started' THEN 'begun' ELSE 'spent' END")}
    ELSIF v_state = 'done' THEN
      ${answer(schema, "'done'")}
    ELSIF v_state = 'started' THEN
      ${answer(schema, "'under-way'")}
    ELSIF v_state = 'unknown' AND (r.attempt, r.started_ms) IS DISTINCT FROM (of_attempt, of_start) THEN
      ${answer(schema, "'unknown'")}
    END IF;
    IF v_is_locked THEN EXIT; END IF;
    PERFORM ${schema}.settle(not_after);
    v_is_locked := true;
  END LOOP;
  ${late(schema)}
  v_settlements := CASE v_state WHEN 'free' THEN r.settlements
    WHEN 'unknown' THEN ${schema}.once_settled(r, 'repeated', acted_by, reason, v_at) ELSE '[]' END;
  UPDATE ${schema}.once_keys AS o SET (state, attempt, owner, started_by, started_ms, deadline_ms, ended_ms, expires_ms,
    result, detail, settlements) = ('started', CASE WHEN v_state IS NULL THEN 1 ELSE r.attempt + 1 END, nonce, who, v_at,
    v_at + timeout_ms, NULL, v_at + timeout_ms + keep_ms, NULL, NULL, v_settlements)
  WHERE o.namespace = space AND o.key = asked RETURNING * INTO r;
  ${answer(schema, "'begun'")}
END`,
  );
}

/** The row, locked, and what it means: the beginning of what ends an attempt. */
const lock = (schema: string) => `${late(schema)}
  PERFORM ${schema}.settle(not_after);
  SELECT * INTO r FROM ${schema}.once_keys AS o WHERE o.namespace = space AND o.key = asked FOR UPDATE;
  v_at := ${now};
  ${late(schema)}
  ${corrupt(schema)}
  IF r.state = 'started' AND r.started_ms > v_at THEN ${recount(schema)} END IF;
  v_state := ${schema}.once_state(r, v_at);`;

/**
 * Ends an attempt.
 *
 * In: the key; the nonce; `done`, `unknown` or `free`; how long that is kept (null: for ever); the result, and the detail.
 * Out: `recorded` or `superseded`, and the row as it stands.
 * Keeps true: nobody ends what another one began, or somebody settled; no end is taken back.
 */
function end(schema: string): string {
  return operation(
    `${schema}.once_end(space text, not_after double precision, asked text, nonce text, ends_as text, keep_ms bigint,
  its_result text, its_detail text)`,
    'json',
    `DECLARE
  r ${schema}.once_keys;
  v_at bigint;
  v_state text;
BEGIN
  ${lock(schema)}
  IF v_state IS NULL OR r.owner <> nonce THEN ${answer(schema, "'superseded'")} END IF;
  IF r.state IN ('done', 'free') OR r.state = 'unknown' AND ends_as = 'unknown' THEN ${answer(schema, "'recorded'")} END IF;
  UPDATE ${schema}.once_keys AS o SET (state, ended_ms, expires_ms, result, detail)
    = (ends_as, v_at, v_at + keep_ms, its_result, its_detail)
  WHERE o.namespace = space AND o.key = asked RETURNING * INTO r;
  ${answer(schema, "'recorded'")}
END`,
  );
}

/**
 * Settles an attempt of unknown outcome.
 *
 * In: the key; the nonce of the settlement; the attempt and the start of the one that is meant (null: whichever); `done` or
 * `free`; how long that is kept; the result, and the detail; who and why; the outcome as settlements name it.
 * Out: `settled` or `refused`, and the row as it stands.
 */
function settle(schema: string): string {
  return operation(
    `${schema}.once_settle(space text, not_after double precision, asked text, nonce text, of_attempt integer, of_start bigint,
  ends_as text, keep_ms bigint, its_result text, its_detail text, who text, why text, outcome text)`,
    'json',
    `DECLARE
  r ${schema}.once_keys;
  v_at bigint;
  v_state text;
BEGIN
  ${lock(schema)}
  IF v_state IS NOT NULL AND r.owner = nonce THEN ${answer(schema, "'settled'")} END IF;
  IF v_state IS DISTINCT FROM 'unknown' OR r.attempt <> of_attempt OR r.started_ms <> of_start THEN
    ${answer(schema, "'refused'")}
  END IF;
  UPDATE ${schema}.once_keys AS o SET (state, owner, ended_ms, expires_ms, result, detail, settlements)
    = (ends_as, nonce, v_at, v_at + keep_ms, its_result, its_detail, ${schema}.once_settled(r, outcome, who, why, v_at))
  WHERE o.namespace = space AND o.key = asked RETURNING * INTO r;
  ${answer(schema, "'settled'")}
END`,
  );
}

function reads(schema: string): string {
  return [
    /* In: the key. Out: the row as it stands. */
    operation(
      `${schema}.once_read(space text, asked text)`,
      'json',
      `DECLARE
  r ${schema}.once_keys;
  v_at bigint;
BEGIN
  SELECT * INTO r FROM ${schema}.once_keys AS o WHERE o.namespace = space AND o.key = asked;
  v_at := ${now};
  ${corrupt(schema)}
  ${answer(schema, "'read'")}
END`,
    ),
    /*
     * In: how many at most; after which deadline and key (null: from the first). Out: rows of unknown outcome by these;
     * those that cannot be true are passed over. Attempts that the clock was set back from count anew.
     */
    operation(
      `${schema}.once_unknown(space text, page integer, after_deadline bigint, after_key text)`,
      'json',
      `DECLARE
  r ${schema}.once_keys;
  v_at bigint := ${now};
BEGIN
  FOR r IN SELECT * FROM ${schema}.once_keys AS e WHERE e.namespace = space AND e.state = 'started' AND e.deadline_ms > v_at
    AND e.started_ms > v_at AND ${schema}.once_sound(e) FOR UPDATE SKIP LOCKED
  LOOP
    -- Read once the row is locked: one that has begun since the first look did so by a clock that goes right.
    v_at := ${now};
    IF r.started_ms > v_at THEN ${recount(schema)} END IF;
  END LOOP;
  v_at := ${now};
  RETURN json_build_object('now', v_at, 'records', (SELECT coalesce(json_agg(${schema}.once_seen(q, v_at) ORDER BY q.deadline_ms, q.key), '[]')
    FROM (SELECT o.* FROM ${schema}.once_keys AS o
      WHERE o.namespace = space AND o.state IN ('started', 'unknown') AND ${schema}.once_state(o, v_at) = 'unknown' AND ${schema}.once_sound(o)
      AND (after_deadline IS NULL OR (o.deadline_ms, o.key) > (after_deadline, after_key))
      ORDER BY o.deadline_ms, o.key LIMIT page) AS q));
END`,
    ),
    /* In: how many at most. Out: how many that have expired were deleted; who is locked is left for the next time. */
    operation(
      `${schema}.once_forget(space text, not_after double precision, page integer)`,
      'json',
      `DECLARE
  v_at bigint;
  v_count integer;
BEGIN
  ${late(schema)}
  PERFORM ${schema}.settle(not_after);
  v_at := ${now};
  -- An array, since a subquery may be run more than once, and would find others each time.
  DELETE FROM ${schema}.once_keys AS o WHERE o.namespace = space AND o.key = ANY (ARRAY(
    SELECT e.key FROM ${schema}.once_keys AS e WHERE e.namespace = space AND e.expires_ms <= v_at
    AND ${schema}.once_state(e, v_at) IS NULL AND ${schema}.once_sound(e)
    ORDER BY e.expires_ms LIMIT page FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN json_build_object('now', v_at, 'count', v_count);
END`,
    ),
  ].join('\n');
}
