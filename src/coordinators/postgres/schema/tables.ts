import { highestTerm } from '../../term.js';

/*
 * The tables of version 1. Every row belongs to one namespace, so that a schema can serve several programs. Names stand in
 * them as they are, and sort by their bytes. All times are the server's clock at execution.
 *
 * What a row of `leases` means follows from its columns and the time alone, so that nothing has to happen when a lease
 * runs out:
 *
 *   lease        held until `deadline`; then in its lock-delay for `grace_ms`; then reserved for `reserved_to`, if an
 *                operator has named a successor, for `reserve_ms`; then the row means nothing
 *   reservation  reserved for `reserved_to` for `reserve_ms` from `deadline` on
 *   any other    written by somebody else, or a later version: left alone, and granted to nobody
 *
 * Nothing that a renewal changes is in an index, and the pages have room for new versions: renewals touch no index.
 */
export function tables(schema: string): string {
  return `
CREATE TABLE ${schema}.namespaces (
  namespace text COLLATE "C" PRIMARY KEY,
  last_term bigint NOT NULL CHECK (last_term BETWEEN 0 AND ${highestTerm})
) WITH (fillfactor = 25);

CREATE TABLE ${schema}.leases (
  namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  name_group text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  term bigint,
  holder text,
  attempt text,
  ttl_ms integer NOT NULL DEFAULT 0,
  grace_ms integer NOT NULL DEFAULT 0,
  deadline timestamptz NOT NULL DEFAULT 'infinity',
  granted_at timestamptz,
  renewed_at timestamptz,
  metadata text,
  revoked_at timestamptz,
  revoked_by text,
  revoked_reason text,
  reserved_to text,
  reserve_ms integer NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace, name)
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX leases_group ON ${schema}.leases (namespace, name_group);

CREATE TABLE ${schema}.suspensions (
  namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  name_group text COLLATE "C" NOT NULL,
  suspended_by text NOT NULL,
  reason text NOT NULL,
  suspended_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, name)
);

CREATE SEQUENCE ${schema}.enrollments;

CREATE TABLE ${schema}.candidates (
  namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  standing text NOT NULL,
  preference integer NOT NULL,
  since bigint NOT NULL,
  since_at timestamptz NOT NULL,
  refresh bigint NOT NULL,
  deadline timestamptz NOT NULL,
  metadata text,
  call_count integer NOT NULL DEFAULT 0,
  call_place integer,
  PRIMARY KEY (namespace, name, digest)
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX candidates_digest ON ${schema}.candidates (namespace, digest);

CREATE TABLE ${schema}.history (
  namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  line bigint GENERATED ALWAYS AS IDENTITY,
  kind text NOT NULL,
  noted_at timestamptz NOT NULL,
  term bigint,
  holder_id text,
  ended_at timestamptz,
  end_reason text,
  act text,
  acted_by text,
  reason text,
  successor text,
  PRIMARY KEY (namespace, name, line)
);
CREATE INDEX history_lasting ON ${schema}.history (namespace, name) WHERE kind = 'term' AND ended_at IS NULL;

CREATE TABLE ${schema}.histories (
  namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  used_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, name)
);
CREATE INDEX histories_age ON ${schema}.histories (namespace, used_at);

CREATE TABLE ${schema}.documents (
  namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (namespace, name)
);
-- Compressing the largest one takes longer than writing it.
ALTER TABLE ${schema}.documents ALTER COLUMN body SET STORAGE EXTERNAL;
`;
}
