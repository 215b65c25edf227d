import type { Command } from 'commander';
import { orAborted } from '../heard.js';
import { outputOption } from '../output-option.js';
import { PendingAct } from '../pending-act.js';
import type { Wiring } from '../session.js';
import { addSettings, type Flags, resolveSettings } from '../settings/index.js';
import { isMysqlUrl } from './mysql-url.js';
import { parts, partsOf } from './parts.js';

interface MigrateFlags extends Flags {
  readonly url?: string;
  readonly schema?: string;
  readonly only?: string;
  readonly output: 'text' | 'json';
}

/** `tenure migrate`. */
export function addMigrate(program: Command, { terminal, run }: Wiring): void {
  const command = program
    .command('migrate')
    .summary(
      'create or update the tables of tenure in PostgreSQL, or of its fence in MariaDB and MySQL',
    )
    .description(
      'Creates what leases, scheduled jobs, fences and once-only effects need in a schema of a PostgreSQL database, or brings it to the version of this tenure, each in one transaction. In MariaDB and MySQL it creates the tables of a fence. Changes nothing if it is there, so it may run at every start. No other store needs it.',
    )
    .option(
      '--only <parts>',
      `some of ${parts.join(', ')}, with commas in between (default: all); jobs and once need leases, and make them`,
    )
    .option(
      '--schema <name>',
      'the schema, in MariaDB and MySQL the database (default: that of the URL, else tenure)',
    )
    .addOption(outputOption(['text', 'json']));
  addSettings(command, ['url']).addHelpText(
    'after',
    `
All other commands find a schema of another name by a parameter of the URL:
postgres://host/database?schema=leases. The role of this command has to be
allowed to create; theirs needs no more than to use what is there.

Examples:
  tenure migrate --url postgres://owner@localhost/app
  tenure migrate --url postgres://owner@localhost/app --schema leases -o json
  tenure migrate --url postgres://owner@localhost/app --only fence
  tenure migrate --url mysql://owner@localhost

Exit status: 0 it is there, 69 database unreachable, 78 it cannot be created, or
a newer tenure has migrated it.
`,
  );
  command.action((flags: MigrateFlags) => {
    const targets: string[] = [];
    return run('migrate', targets, async (signal) => {
      const url = isMysqlUrl(flags.url)
        ? { value: flags.url, source: '--url' }
        : resolveSettings(['url'], flags).url;
      targets.push(url.value);
      const only = partsOf(flags.only);
      const { migrate } = await import('./migrate.js');
      const order = { schema: flags.schema, only, format: flags.output };
      const pending = new PendingAct(signal);
      pending.announce('the migration', 'the same command again: what is there is left alone');
      const migrating = pending.ask(() => orAborted(migrate(url, order, terminal), signal));
      return await migrating.catch((error: unknown) => {
        throw pending.told(error);
      });
    });
  });
}
