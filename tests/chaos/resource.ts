import { postgresFence } from '../../src/postgres.js';
import { withClient } from '../support/with-client.js';

/** One write that the resource took, in the order in which it took them. */
export interface Row {
  readonly position: number;
  readonly atMs: number;
  readonly kind: 'effect' | 'zombie';
  readonly name: string;
  readonly key: string;
  readonly seq: number;
  readonly term: number;
  /** The digest of the incarnation that holds the lease. */
  readonly holder: string;
  readonly who: string;
}

/*
 * Nothing here is unique, so that a doubled number shows instead of being refused. Writers of one name take turns, so that
 * positions stand in the order of the commits.
 */
const schema = `
CREATE TABLE names (name text PRIMARY KEY);
CREATE SEQUENCE positions;
CREATE TABLE writes (
  position bigint PRIMARY KEY,
  at_ms double precision NOT NULL,
  kind text NOT NULL CHECK (kind IN ('effect', 'zombie')),
  name text NOT NULL REFERENCES names,
  key text NOT NULL,
  seq integer NOT NULL,
  term bigint NOT NULL,
  holder text NOT NULL,
  who text NOT NULL
);
CREATE INDEX ON writes (name, key, seq);
CREATE FUNCTION witness() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM names WHERE name = NEW.name FOR UPDATE;
  NEW.position := nextval('positions');
  NEW.at_ms := extract(epoch FROM clock_timestamp()) * 1000;
  RETURN NEW;
END $$;
CREATE TRIGGER witness BEFORE INSERT ON writes FOR EACH ROW EXECUTE FUNCTION witness();
`;

export async function createResource(url: string, name: string): Promise<void> {
  const fence = postgresFence(url);
  try {
    await fence.migrate();
  } finally {
    await fence.close();
  }
  await withClient(url, async (client) => {
    await client.query(schema);
    await client.query('INSERT INTO names VALUES ($1)', [name]);
  });
}

export async function rowsOf(url: string): Promise<Row[]> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query(
      'SELECT position, at_ms AS "atMs", kind, name, key, seq, term, holder, who FROM writes ORDER BY position',
    );
    return rows.map((row) => ({
      ...row,
      position: Number(row.position),
      term: Number(row.term),
    }));
  });
}
