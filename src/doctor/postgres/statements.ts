/*
 * What is asked of a server. All of it reads, and each stands alone: no transaction, which some poolers refuse.
 */

/** Out: the server's own settings, as they are for this role. */
export const serverQuestion = `SELECT current_setting('server_version_num')::int AS version,
  pg_is_in_recovery() AS "isInRecovery",
  current_setting('default_transaction_read_only') = 'on' AS "isReadOnly",
  current_setting('server_encoding') AS encoding,
  current_setting('fsync') = 'on' AS fsync,
  current_setting('full_page_writes') = 'on' AS "fullPageWrites",
  current_setting('synchronous_commit') AS "synchronousCommit",
  current_setting('synchronous_standby_names') AS "synchronousStandbyNames",
  (current_setting('log_statement') IN ('mod', 'all') OR current_setting('log_min_duration_statement') <> '-1')
    AND current_setting('log_parameter_max_length') <> '0' AS "logsStatements"`;

export const clockQuestion = `SELECT date_part('epoch', clock_timestamp()) * 1000 AS "nowMs"`;

export const backendQuestion = 'SELECT pg_backend_pid() AS pid';

/** Out: who is connected, and how many may be, by those who are not superusers. */
export const connectionsQuestion = `SELECT
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS taken,
  (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int) AS "all"`;

/** Out: the standbys; their states are null for who may not see them. */
export const standbysQuestion = `SELECT coalesce(application_name, '') AS name, sync_state AS state
  FROM pg_stat_replication`;

/** In: the schema. Out: whether its table of versions can be read. */
export const versionsTableQuestion = `SELECT c.oid IS NOT NULL AS "isThere",
  coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'), false) AS "isReadable"
  FROM (SELECT $1::text AS name) AS asked
  LEFT JOIN pg_namespace AS n ON n.nspname = asked.name
  LEFT JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = 'versions'`;

/** @param schema quoted. */
export const versionsQuestion = (schema: string) =>
  `SELECT part, max(version)::int AS version FROM ${schema}.versions GROUP BY part`;

/** In: the schema. Out: what is in it, whoever may use it: `table leases`, `column leases.term`. */
export const presentQuestion = `WITH there AS (SELECT c.oid, c.relname, c.relkind FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'S'))
SELECT CASE relkind WHEN 'r' THEN 'table ' ELSE 'sequence ' END || relname AS part FROM there
UNION ALL
SELECT 'column ' || relname || '.' || attname FROM there
  JOIN pg_attribute ON attrelid = there.oid AND attnum > 0 AND NOT attisdropped
UNION ALL
SELECT 'primary key of ' || relname FROM there
  JOIN pg_constraint ON conrelid = there.oid AND contype = 'p'
UNION ALL
SELECT 'function ' || proname FROM pg_proc AS p
  JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE n.nspname = $1`;

/** In: the schema. Out: what this role may not do with what is in it. */
export const missingQuestion = `SELECT 'USAGE ON SCHEMA ' || nspname AS missing FROM pg_namespace
  WHERE nspname = $1 AND NOT has_schema_privilege(oid, 'USAGE')
UNION ALL
SELECT privilege || ' ON ' || c.relname FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace,
  unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
  WHERE n.nspname = $1 AND c.relkind = 'r' AND NOT has_table_privilege(c.oid, privilege)
UNION ALL
SELECT 'USAGE ON ' || c.relname FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND CASE c.relkind WHEN 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE') END
UNION ALL
SELECT 'EXECUTE ON ' || p.proname FROM pg_proc AS p
  JOIN pg_namespace AS n ON n.oid = p.pronamespace
  WHERE n.nspname = $1 AND NOT has_function_privilege(p.oid, 'EXECUTE')
ORDER BY 1`;

/** In: the schema. Out: who we are, and what of it is ours. */
export const roleQuestion = `SELECT current_user::text AS name,
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS "isSuperuser",
  EXISTS (SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND pg_has_role(c.relowner, 'USAGE')) AS "ownsTables",
  pg_has_role('pg_read_all_stats', 'USAGE') AS "seesStandbys"`;
