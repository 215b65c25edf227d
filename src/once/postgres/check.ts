import { type ServerCheck, sqlStateOf } from '../../drivers/postgres/index.js';
import { StoreMisconfiguredError } from '../../errors/index.js';
import { ofKind } from '../../errors/kinds.js';
import { tooNew } from './migration.js';
import { part, schemaVersion } from './schema.js';

/** What is asked of every server before an effect is begun on its word. */
export function onceServerCheck(schema: string, quotedSchema: string): ServerCheck {
  return {
    text: `SELECT date_part('epoch', clock_timestamp()) * 1000 AS now, pg_is_in_recovery() AS standby,
      current_setting('default_transaction_read_only') AS read_only, current_setting('fsync') AS fsync,
      (SELECT max(v.version) FROM ${quotedSchema}.versions AS v WHERE v.part = '${part}')::int AS version`,
    accept: (row) => {
      if (row.standby === true)
        throw readOnly('it is a standby (pg_is_in_recovery() is true); connect to the primary');
      if (row.read_only === 'on')
        throw readOnly('default_transaction_read_only is on; connect with a role that may write');
      const version = Number(row.version ?? 0);
      if (version < schemaVersion) throw notMigrated(schema);
      if (version > schemaVersion) throw tooNew(schema, version);
      return row.fsync === 'off'
        ? ['fsync is off: a crash of the machine can forget that an effect was begun, or had']
        : [];
    },
    explain: (error) => {
      // No such table, or no such schema.
      const isMissing = ['42P01', '3F000'].includes(sqlStateOf(error) ?? '');
      return isMissing ? notMigrated(schema) : error;
    },
  };
}

function notMigrated(schema: string): StoreMisconfiguredError {
  return new StoreMisconfiguredError(
    `the schema "${schema}" holds no table of keys: call once.migrate() (or migrate() of the store), or run "tenure migrate --url postgres://...${schema === 'tenure' ? '' : `?schema=${schema}`}", with a role that may create tables and functions.`,
  );
}

function readOnly(reason: string): StoreMisconfiguredError {
  return ofKind('replica', new StoreMisconfiguredError(`the server was not accepted: ${reason}.`));
}
