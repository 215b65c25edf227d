import type { Command } from 'commander';
import { outputOption } from '../output-option.js';
import type { Wiring } from '../session.js';
import { addSettings, type Flags, resolveSettings } from '../settings/index.js';

interface MigrateFlags extends Flags {
  readonly schema?: string;
  readonly output: 'text' | 'json';
}

/** `tenure migrate`. */
export function addMigrate(program: Command, { terminal, run }: Wiring): void {
  const command = program
    .command('migrate')
    .summary('create or update the tables of leases and jobs in PostgreSQL')
    .description(
      'Creates what leases and scheduled jobs need in a schema of a PostgreSQL database, or brings it to the version of this tenure, each in one transaction. Changes nothing if it is there, so it may run at every start. No other store needs it.',
    )
    .option('--schema <name>', 'the schema (default: that of the URL, else tenure)')
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

Exit status: 0 it is there, 69 database unreachable, 78 it cannot be created, or
a newer tenure has migrated it.
`,
  );
  command.action((flags: MigrateFlags) => {
    const targets: string[] = [];
    return run('migrate', targets, async () => {
      const { url } = resolveSettings(['url'], flags);
      targets.push(url.value);
      const { migrate } = await import('./migrate.js');
      return migrate(url, flags.schema, flags.output, terminal);
    });
  });
}
