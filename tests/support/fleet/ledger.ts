import { postgresFence } from '../../../src/postgres.js';
import { withClient } from '../with-client.js';

/**
 * The resource that the workers write to, and the witness against them: whatever the processes believe, this is what
 * was accepted, in which order, and which term was installed at that moment.
 */
const schema = `
CREATE TABLE expected (
  key text NOT NULL,
  seq integer NOT NULL,
  id text NOT NULL,
  PRIMARY KEY (key, seq)
);

-- Nothing here is unique, so that a doubled effect shows instead of being refused.
CREATE TABLE writes (
  position bigint,
  kind text NOT NULL CHECK (kind IN ('effect', 'probe')),
  key text,
  seq integer,
  id text,
  shard integer NOT NULL,
  term bigint NOT NULL,
  holder text NOT NULL,
  installed_term bigint
);
CREATE SEQUENCE positions;
CREATE TABLE shards (shard integer PRIMARY KEY);

-- Writers of one shard take turns, so that positions stand in the order of the commits.
CREATE FUNCTION witness_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM shards WHERE shard = NEW.shard FOR UPDATE;
  NEW.position := nextval('positions');
  NEW.installed_term := (SELECT term FROM tenure.fences WHERE name = 'fleet/shards/' || NEW.shard);
  RETURN NEW;
END $$;
CREATE TRIGGER witness BEFORE INSERT ON writes FOR EACH ROW EXECUTE FUNCTION witness_write();

CREATE TABLE installs (
  position bigint GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  term bigint NOT NULL,
  holder text NOT NULL,
  previous_term bigint
);
CREATE FUNCTION witness_install() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO installs (name, term, holder, previous_term)
  VALUES (NEW.name, NEW.term, NEW.holder_digest, CASE WHEN TG_OP = 'UPDATE' THEN OLD.term END);
  RETURN NULL;
END $$;
CREATE TRIGGER witness_first AFTER INSERT ON tenure.fences FOR EACH ROW EXECUTE FUNCTION witness_install();
CREATE TRIGGER witness_next AFTER UPDATE ON tenure.fences FOR EACH ROW
  WHEN (NEW.term <> OLD.term OR NEW.holder_digest <> OLD.holder_digest) EXECUTE FUNCTION witness_install();

-- What the workers say themselves, outside of any fence: it proves that something was tried, never that all is well.
CREATE TABLE refusals (kind text NOT NULL, shard integer NOT NULL, term bigint NOT NULL, installed_term bigint NOT NULL);
CREATE TABLE redeliveries (key text NOT NULL, seq integer NOT NULL, shard integer NOT NULL, term bigint NOT NULL);
CREATE TABLE given_back (name text NOT NULL, term bigint NOT NULL);
`;

export interface ExpectedMessage {
  readonly key: string;
  readonly seq: number;
  readonly id: string;
}

/** What must be zero. */
export interface Violations {
  /** Published, and no effect. */
  readonly lost: number;
  /** More effects of a message than one. */
  readonly doubled: number;
  /** Effects of messages that were not published as such. */
  readonly foreign: number;
  /** Effects that do not follow the one before them in their key. */
  readonly outOfOrder: number;
  /** Accepted writes whose term was below one that had been installed, or written with, in their shard. */
  readonly acceptedStale: number;
  /** Terms that more than one holder was known by. */
  readonly sharedTerms: number;
}

/** What must have happened for the zeros to mean something. */
export interface Coverage {
  readonly effects: number;
  /** Terms that were installed after one that had not been given back. */
  readonly takeovers: number;
  /** Writes that the fence refused: by handlers that did not know better, and on purpose after a freeze. */
  readonly refusedEffects: number;
  readonly refusedProbes: number;
  /** Messages that came again after their effect, as `recordOnce` found out. */
  readonly redeliveries: number;
}

export type Verdict = Violations & Coverage;

export async function createLedger(
  url: string,
  shardCount: number,
  expected: readonly ExpectedMessage[],
): Promise<void> {
  const fence = postgresFence(url);
  await fence.migrate();
  await fence.close();
  await withClient(url, async (client) => {
    await client.query(schema);
    await client.query('INSERT INTO shards SELECT generate_series(0, $1::int - 1)', [shardCount]);
    await client.query(
      'INSERT INTO expected SELECT * FROM unnest($1::text[], $2::int[], $3::text[])',
      [
        expected.map(({ key }) => key),
        expected.map(({ seq }) => seq),
        expected.map(({ id }) => id),
      ],
    );
  });
}

const verdictQuery = `
WITH effects AS (SELECT * FROM writes WHERE kind = 'effect'),
ordered AS (
  SELECT seq, lag(seq, 1, 0) OVER (PARTITION BY key ORDER BY position) AS previous_seq FROM effects
),
dated AS (
  SELECT term, installed_term, max(term) OVER (
    PARTITION BY shard ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS written_term
  FROM writes
),
holders AS (
  SELECT shard::text AS name, term, holder FROM writes
  UNION SELECT split_part(name, '/', 3), term, holder FROM installs
)
SELECT
  (SELECT count(*) FROM expected NATURAL LEFT JOIN effects WHERE position IS NULL)::int AS "lost",
  ((SELECT count(*) FROM effects) - (SELECT count(DISTINCT (key, seq)) FROM effects))::int AS "doubled",
  (SELECT count(*) FROM effects WHERE (key, seq, id) NOT IN (SELECT key, seq, id FROM expected))::int AS "foreign",
  (SELECT count(*) FROM ordered WHERE seq <> previous_seq + 1)::int AS "outOfOrder",
  (SELECT count(*) FROM dated WHERE term < installed_term OR term < written_term)::int
    + (SELECT count(*) FROM installs WHERE term < previous_term)::int AS "acceptedStale",
  (SELECT count(*) FROM (SELECT FROM holders GROUP BY name, term HAVING count(DISTINCT holder) > 1) a)::int AS "sharedTerms",
  (SELECT count(*) FROM effects)::int AS "effects",
  (SELECT count(*) FROM installs i WHERE previous_term IS NOT NULL AND NOT EXISTS (
    SELECT FROM given_back g WHERE g.name = i.name AND g.term = i.previous_term))::int AS "takeovers",
  (SELECT count(*) FROM refusals WHERE kind = 'effect')::int AS "refusedEffects",
  (SELECT count(*) FROM refusals WHERE kind = 'probe')::int AS "refusedProbes",
  (SELECT count(*) FROM redeliveries)::int AS "redeliveries"`;

export async function judge(url: string): Promise<Verdict> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query<Verdict>(verdictQuery);
    const [verdict] = rows;
    if (verdict === undefined) throw new Error('the ledger gave no verdict');
    return verdict;
  });
}
