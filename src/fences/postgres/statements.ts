import { highestTerm } from '../../coordinators/index.js';
import {
  assertBegunNow,
  bigintType,
  markCursor,
  markSetting,
  preparedStatement,
  quoteLiteral,
  quoteSchema,
  textType,
  transactionStamp,
} from '../../drivers/postgres/index.js';

/**
 * The SQL that creates what the fence needs: two tables in a schema of their own. Run it in one transaction, with a
 * tool of your own or by `fence.migrate()`. Running it again changes nothing.
 *
 * @param schema see `PostgresFenceOptions.schema`. Default `tenure`.
 * @throws {OptionError} if it is not a name tenure takes.
 */
export function migrationSql(schema = 'tenure'): string {
  const quoted = quoteSchema(schema);
  return `CREATE SCHEMA IF NOT EXISTS ${quoted};

CREATE TABLE IF NOT EXISTS ${quoted}.fences (
  name text PRIMARY KEY,
  term bigint NOT NULL CHECK (term BETWEEN 1 AND ${highestTerm}),
  holder_digest text NOT NULL,
  installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE IF NOT EXISTS ${quoted}.effects (
  scope text NOT NULL,
  key text NOT NULL,
  seq bigint NOT NULL,
  id text,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (scope, key, seq)
);

ALTER TABLE ${quoted}.effects ADD COLUMN IF NOT EXISTS id text;

${passProcedure(quoted)}`;
}

/** SQLSTATEs of `fence_pass`: the token does not pass; or the transaction is not READ COMMITTED. */
export const notInstalled = 'TN011';
export const otherIsolation = 'TN012';

/** What stands for one where `lockAtBegin` found that the session has other limits. */
export const otherLimits = 'TN016';

/**
 * A transaction of the fence's own begins with it, so that a token that is installed already costs no round trip, and no
 * planner: it is called as a whole, and its own statements keep their plans.
 *
 * In: name, term, digest, lock key, idle limit in ms, a value for `markSetting`. Fails, as above, unless the token passes,
 * and, as a connection that was left open, unless the transaction began with the message of the call.
 * Keeps true: whoever installs another takes the advisory lock alone first. So what is read after it is taken shared stays
 * until the transaction ends, and no row is locked: many that share a row's lock write down who they are, each time, and
 * wait for each other over that. Each statement of a procedure sees what was committed before it, if the transaction is
 * READ COMMITTED; with one snapshot for all it could be older than the lock.
 * Waits for nobody: whoever installs, or waits to, has the lock refused here, and `pass` queues behind it.
 * Who fails lets go of the lock by that, so that nobody who holds it shared wants it alone, and nobody who has it may stand
 * idle without a limit.
 * The cursor is the mark by which the end of the transaction is noticed. It reads nothing: one over the table would keep the
 * transaction from dropping or altering that. All is committed durably, as whatever is guarded.
 */
function passProcedure(quotedSchema: string): string {
  return `CREATE OR REPLACE PROCEDURE ${quotedSchema}.fence_pass(
  asked text, of_term bigint, of_digest text, lock_key bigint, idle_limit_ms integer, nonce text
) LANGUAGE plpgsql AS $$
DECLARE
  mark refcursor := '${markCursor}';
  setting text := current_setting('idle_in_transaction_session_timeout');
BEGIN
  ${assertBegunNow}
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'tenure: this transaction may see what is older than its lock' USING ERRCODE = '${otherIsolation}';
  END IF;
  IF NOT pg_try_advisory_xact_lock_shared(lock_key) THEN
    RAISE EXCEPTION 'tenure: another term of this name is being installed' USING ERRCODE = '${notInstalled}';
  END IF;
  PERFORM FROM ${quotedSchema}.fences AS f
    WHERE f.name = asked AND f.term = of_term AND f.holder_digest = of_digest;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'tenure: this term is not installed' USING ERRCODE = '${notInstalled}';
  END IF;
  IF setting = '0' OR setting::interval > idle_limit_ms * interval '1 millisecond' THEN
    setting := set_config('idle_in_transaction_session_timeout', idle_limit_ms || 'ms', true);
  END IF;
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    setting := set_config('synchronous_commit', 'on', true);
  END IF;
  OPEN mark FOR SELECT;
  setting := set_config('${markSetting}', nonce, false);
END $$;
`;
}

/** Lowers the session's limit to `$5` milliseconds until the transaction ends; a lower one stays. Never null. */
const limitIdleTime = `set_config('idle_in_transaction_session_timeout', CASE
  WHEN extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval) * 1000 BETWEEN 1 AND $5::int
  THEN current_setting('idle_in_transaction_session_timeout')
  ELSE $5::text || 'ms' END, true) IS NOT NULL`;

/**
 * An installed term that a crash forgets would let an old owner in again; an effect that it forgets may have been
 * acknowledged, so that nobody sends its message again. Raises, never lowers. Never null.
 */
export const commitDurably = `set_config('synchronous_commit', CASE
  WHEN current_setting('synchronous_commit') IN ('on', 'remote_apply')
  THEN current_setting('synchronous_commit')
  ELSE 'on' END, true) IS NOT NULL`;

/** The session has both of them as they should be, this limit and no other: it is not even asked to compare. */
const limitsAreAsTold = (
  idleLimit: string,
) => `current_setting('idle_in_transaction_session_timeout') = ${idleLimit}
  AND current_setting('synchronous_commit') = 'on'`;

const durabilityIsSet = `current_setting('synchronous_commit') IN ('on', 'remote_apply')
    OR set_config('synchronous_commit', 'on', true) IS NOT NULL`;

/**
 * Sets both of them, in a statement that runs at every transaction's begin: what is as it should be is not set again, since a
 * setting that changes costs as much as a statement. Never null.
 */
const limitsAreSet = (
  idleLimit: string,
) => `CASE current_setting('idle_in_transaction_session_timeout')
    WHEN ${idleLimit} THEN true
    WHEN '0' THEN set_config('idle_in_transaction_session_timeout', ${idleLimit}, true) IS NOT NULL
    ELSE current_setting('idle_in_transaction_session_timeout')::interval <= ${idleLimit}::interval
      OR set_config('idle_in_transaction_session_timeout', ${idleLimit}, true) IS NOT NULL END
  AND (${durabilityIsSet})`;

/**
 * Fails with the text, unless it is a number. By the functions of the types, and not by a cast: a database may have one of its
 * own between these two, which makes a number of any text.
 */
const failing = (text: string) => `pg_catalog.int4in(pg_catalog.textout(${text}))`;

/** A duration in the unit in which PostgreSQL shows a setting: the largest that leaves no rest. */
export function shownDuration(durationMs: number): string {
  const units = { d: 86_400_000, h: 3_600_000, min: 60_000, s: 1000 };
  for (const [unit, lengthMs] of Object.entries(units))
    if (durationMs % lengthMs === 0) return `${durationMs / lengthMs}${unit}`;
  return `${durationMs}ms`;
}

/**
 * What `lockAtBegin` answers: the name is locked; somebody installs, or waits to; the transaction is not READ COMMITTED; the
 * session has other limits.
 */
export type LockAnswer = 'locked' | 'busy' | 'isolation' | 'limits';

/** In: lock key, idle limit as `shownDuration` has it. Out: a `LockAnswer`, and what the transaction is told from others by. */
const locking = (limits: string) =>
  preparedStatement(
    `SELECT CASE
  WHEN current_setting('transaction_isolation') <> 'read committed' THEN 'isolation'
  WHEN NOT (${limits}) THEN 'limits'
  WHEN pg_try_advisory_xact_lock_shared($1) THEN 'locked'
  ELSE 'busy' END, ${transactionStamp}`,
    [bigintType, textType],
  );

/** What `pass` takes, as literals. */
export interface PassLiterals {
  readonly name: string;
  readonly term: number;
  readonly holderDigest: string;
  /** Decimal, signed. */
  readonly lockKey: string;
  readonly idleLimitMs: number;
}

export type FenceStatements = ReturnType<typeof fenceStatements>;

/** Everything the fence asks, with all tables qualified: `search_path` is not trusted. */
export function fenceStatements(quotedSchema: string) {
  const fences = `${quotedSchema}.fences`;
  const effects = `${quotedSchema}.effects`;
  return {
    /**
     * Lets a token pass that is installed already, and holds its row until the transaction ends.
     *
     * In: name, term, digest, lock key, idle limit in ms. Out: one row if it passes, none if something else is
     * installed or nothing is.
     * Keeps true: `FOR SHARE` lets writers of one term go on together and makes whoever installs another wait. A row
     * that does not match is not locked at all, since two transactions that hold it shared and both want to change
     * it would block each other.
     * The advisory lock is a queue: the server grants shared row locks past a waiting change, so a steady stream of
     * overlapping writers could keep a successor out for seconds (seen: 3.1 s with eight of them).
     */
    pass: `SELECT f.term::text AS term FROM ${fences} AS f
WHERE f.name = $1 AND CASE WHEN f.term = $2::bigint AND f.holder_digest = $3::text
  THEN pg_advisory_xact_lock_shared($4::bigint) IS NOT NULL AND ${limitIdleTime} AND ${commitDurably}
  ELSE false END
FOR SHARE OF f`,

    /** The same for a transaction of the fence's own, to be sent with its `BEGIN`: such a message has no parameters. */
    passAtBegin: (
      { name, term, holderDigest, lockKey, idleLimitMs }: PassLiterals,
      nonce: string,
    ) =>
      `CALL ${quotedSchema}.fence_pass(${quoteLiteral(name)}, ${term}, ${quoteLiteral(holderDigest)}, ${lockKey}, ${idleLimitMs}, '${nonce}')`,

    /**
     * What `fence_pass` does, for a transaction that is watched by other means than its mark: two statements that a session
     * plans once. They say what they found, since whoever asks rolls back at once.
     *
     * Keeps true: it is limited and durable before it has the lock.
     */
    lockAtBegin: locking(limitsAreAsTold('$2')),

    /** The same for sessions that are not set up so; never says `limits`. All that it could do costs, even if nothing is set. */
    limitAndLockAtBegin: locking(limitsAreSet('$2')),

    /**
     * In: name, term, digest. Out: a row if that is installed. Sent behind `lockAtBegin`: it sees all that was committed
     * before the lock was had.
     */
    lookAtBegin: preparedStatement(
      `SELECT FROM ${fences} AS f WHERE f.name = $1 AND f.term = $2 AND f.holder_digest = $3`,
      [textType, bigintType, textType],
    ),

    /**
     * What goes with one statement in one message: either of both fails, with what it found in its message, unless the token
     * passes, and the server skips the rest. In and keeping true: as `lockAtBegin` and `lookAtBegin`, but for the limit of
     * idle time, since nobody is waited for within a message.
     */
    lockOrFail: preparedStatement(
      `SELECT ${failing(`CASE
  WHEN current_setting('transaction_isolation') <> 'read committed' THEN 'tenure: this statement may see what is older than its lock'
  WHEN NOT (${durabilityIsSet}) THEN 'tenure: synchronous_commit could not be set'
  WHEN pg_try_advisory_xact_lock_shared($1) THEN '1'
  ELSE 'tenure: another term of this name is being installed' END`)}`,
      [bigintType],
    ),
    lookOrFail: preparedStatement(
      `SELECT ${failing(`CASE WHEN EXISTS (
  SELECT FROM ${fences} AS f WHERE f.name = $1 AND f.term = $2 AND f.holder_digest = $3
) THEN '1' ELSE 'tenure: this term is not installed' END`)}`,
      [textType, bigintType, textType],
    ),

    /**
     * Installs a token unless a higher term, or an equal one of another holder, is there.
     *
     * In: as `pass`. Out: one row if it is installed now, none if it was refused.
     * Clock: the server's, for `installed_at`, which is for people only.
     * Keeps true: the condition is judged on the newest committed row, after all transactions that hold it have
     * ended, and in the step that changes it. Terms never fall.
     */
    install: `INSERT INTO ${fences} AS f (name, term, holder_digest, installed_at)
SELECT $1::text, $2::bigint, $3::text, clock_timestamp()
WHERE pg_advisory_xact_lock($4::bigint) IS NOT NULL AND ${limitIdleTime} AND ${commitDurably}
ON CONFLICT (name) DO UPDATE
  SET term = excluded.term, holder_digest = excluded.holder_digest, installed_at = excluded.installed_at
  WHERE f.term < excluded.term OR (f.term = excluded.term AND f.holder_digest = excluded.holder_digest)
RETURNING f.term::text AS term`,

    /**
     * Fails, always.
     *
     * Keeps true: a transaction in which a check failed cannot commit, even if the caller swallows the failure.
     */
    spoil: `DO $$ BEGIN RAISE EXCEPTION 'tenure: a check failed, this transaction can only be rolled back'; END $$`,

    /** Fails outside a transaction, and in one that has failed. Leaves nothing behind. */
    assertTransaction: 'SAVEPOINT tenure_check; RELEASE SAVEPOINT tenure_check',

    /** Out: how the transaction reads. */
    isolation: "SELECT current_setting('transaction_isolation') AS isolation",

    /** In: name. Out: what is installed, or no row. Locks nothing. */
    read: `SELECT f.term::text AS term, f.holder_digest AS "holderDigest" FROM ${fences} AS f WHERE f.name = $1`,

    /**
     * In: scope, key, seq, id of the message. Out: one row if the effect is new, none if it is recorded.
     * Keeps true: the transaction commits durably, whether or not a token was checked in it.
     * Keeps true: it waits for another transaction that is recording the same effect, and counts on its outcome.
     */
    record: `INSERT INTO ${effects} (scope, key, seq, id)
SELECT $1::text, $2::text, $3::bigint, $4::text WHERE ${commitDurably}
ON CONFLICT (scope, key, seq) DO NOTHING RETURNING true AS recorded`,

    /**
     * In: scope, key, seq. Out: the id of the message whose effect it is (null for one of an older table), or no row.
     * A statement of its own: the snapshot of `record` may be older than the row it ran into.
     */
    recorded: `SELECT e.id FROM ${effects} AS e WHERE e.scope = $1 AND e.key = $2 AND e.seq = $3::bigint`,

    /** In: age in ms, by the server's clock; how many at most. Out: how many were deleted. */
    forget: `WITH gone AS (
  DELETE FROM ${effects} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${effects} WHERE recorded_at < clock_timestamp() - $1::bigint * interval '1 millisecond' LIMIT $2
  )) RETURNING 1)
SELECT count(*)::int AS count FROM gone`,

    /** Out: whether both tables are there, with all of their columns, and the procedure. */
    isMigrated: `SELECT to_regclass('${fences}') IS NOT NULL
AND to_regprocedure('${quotedSchema}.fence_pass(text, bigint, text, bigint, integer, text)') IS NOT NULL AND EXISTS (
  SELECT FROM pg_catalog.pg_attribute
  WHERE attrelid = to_regclass('${effects}') AND attname = 'id' AND NOT attisdropped) AS migrated`,
  };
}
