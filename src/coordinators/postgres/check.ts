import { type ServerCheck, sqlStateOf } from '../../drivers/postgres/index.js';
import { StoreMisconfiguredError } from '../../errors/index.js';
import { ofKind } from '../../errors/kinds.js';
import { schemaVersion } from './schema/index.js';

/** The oldest server that its makers still look after; nothing older was tried. */
const oldestVersion = 140_000;

/** What is asked of every server before anything is granted by it. */
export function leaseServerCheck(schema: string, quotedSchema: string): ServerCheck {
  return {
    text: `SELECT date_part('epoch', clock_timestamp()) * 1000 AS now, pg_is_in_recovery() AS standby,
      current_setting('default_transaction_read_only') AS read_only, current_setting('fsync') AS fsync,
      current_setting('full_page_writes') AS full_page_writes, current_setting('server_version_num')::int AS version,
      current_setting('server_encoding') AS encoding,
      (SELECT max(v.version) FROM ${quotedSchema}.versions AS v WHERE v.part = 'leases')::int AS schema_version`,
    accept: (row) => {
      if (row.standby === true)
        throw readOnly(
          'the server is a standby (pg_is_in_recovery() is true); connect to the primary',
        );
      if (row.read_only === 'on')
        throw readOnly('default_transaction_read_only is on; connect with a role that may write');
      checkSchemaVersion(schema, Number(row.schema_version ?? 0));
      return warningsOf(row);
    },
    explain: (error) => {
      // 42P01: no such table, or no such schema.
      const isMissing = ['42P01', '3F000'].includes(sqlStateOf(error) ?? '');
      return isMissing ? notMigrated(schema) : error;
    },
  };
}

function warningsOf(row: Readonly<Record<string, unknown>>): string[] {
  const warnings: string[] = [];
  if (row.fsync === 'off')
    warnings.push('fsync is off: a crash of the machine can forget leases and damage the database');
  if (row.full_page_writes === 'off')
    warnings.push('full_page_writes is off: a crash of the machine can damage the database');
  if (row.encoding !== 'UTF8')
    warnings.push(
      `the database has the encoding ${row.encoding}: names and metadata that it cannot hold are refused; UTF8 holds all`,
    );
  if (Number(row.version) < oldestVersion)
    warnings.push(
      `the server is PostgreSQL ${Math.floor(Number(row.version) / 10_000)}: tenure is tested with 15, and nothing before 14 was tried`,
    );
  return warnings;
}

function checkSchemaVersion(schema: string, version: number): void {
  if (version < schemaVersion) throw notMigrated(schema, version);
  if (version > schemaVersion) throw tooNew(schema, version);
}

export function notMigrated(schema: string, version = 0): StoreMisconfiguredError {
  const what =
    version === 0
      ? `the schema "${schema}" holds no tables for leases`
      : `the schema "${schema}" has version ${version}, and this tenure needs ${schemaVersion}`;
  const named = schema === 'tenure' ? '' : ` --schema ${schema}`;
  return new StoreMisconfiguredError(
    `${what}: run \`tenure migrate --url postgres://...${named}\`, or migratePostgres(), with a role that may create it.`,
  );
}

export function tooNew(schema: string, version: number): StoreMisconfiguredError {
  return new StoreMisconfiguredError(
    `the schema "${schema}" has version ${version}, and this tenure knows ${schemaVersion}: a newer one has migrated it. Upgrade tenure here, or use another schema.`,
  );
}

function readOnly(reason: string): StoreMisconfiguredError {
  return ofKind('replica', new StoreMisconfiguredError(`the server was not accepted: ${reason}.`));
}
