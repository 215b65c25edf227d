import { schemaVersion as leasesVersion } from '../../coordinators/postgres/schema/index.js';
import { counted } from '../../errors/say.js';
import { type Check, critical, factOf, ifSeen, note, ok, type Verdict, warning } from '../check.js';
import type { PostgresFacts, SchemaFacts, Versions } from './facts.js';

/** The oldest that its makers still look after; nothing older was tried. */
const oldestVersion = 14;
const nearlyFull = 0.9;

export const postgresChecks: readonly Check<PostgresFacts>[] = [
  {
    id: 'postgres-version',
    severities: ['warning'],
    risk: 'nobody has tried tenure on it; it is tested with 15',
    remedy: 'upgrade to PostgreSQL 14 or later',
    judge({ server: { version } }) {
      const major = Math.floor(version / 10_000);
      const text = `PostgreSQL ${major}.${version % 10_000}`;
      return major < oldestVersion ? warning(text) : ok(text);
    },
  },
  {
    id: 'postgres-recovery',
    severities: ['critical'],
    risk: 'it takes no writes: no lease is granted or renewed there, and tenure refuses it',
    remedy:
      'connect to the primary: name it in the URL, or all of them in front of a proxy that finds it',
    judge: ({ server: { isInRecovery } }) =>
      isInRecovery
        ? critical('the server is a standby (pg_is_in_recovery() is true)')
        : ok('the server is a primary'),
  },
  {
    id: 'postgres-read-only',
    severities: ['critical'],
    risk: 'no lease is granted or renewed, and tenure refuses it',
    remedy:
      '`ALTER ROLE <role> SET default_transaction_read_only = off`, or in the database, or in postgresql.conf',
    judge: ({ server: { isReadOnly } }) =>
      isReadOnly ? critical('default_transaction_read_only is on') : ok('transactions may write'),
  },
  {
    id: 'postgres-fsync',
    severities: ['critical'],
    risk: 'a crash of the machine forgets leases that are held, and may damage the database',
    remedy: '`ALTER SYSTEM SET fsync = on` and `SELECT pg_reload_conf()`',
    judge: ({ server: { fsync } }) => (fsync ? ok('fsync is on') : critical('fsync is off')),
  },
  {
    id: 'postgres-full-page-writes',
    severities: ['critical'],
    risk: 'a crash of the machine may damage the database, and with it the leases and terms',
    remedy: '`ALTER SYSTEM SET full_page_writes = on` and `SELECT pg_reload_conf()`',
    judge: ({ server: { fullPageWrites } }) =>
      fullPageWrites ? ok('full_page_writes is on') : critical('full_page_writes is off'),
  },
  {
    id: 'postgres-synchronous-commit',
    severities: ['note'],
    risk: 'tenure raises it to `on` for leases, fences and jobs; a crash may still forget the last commits of everything else, which a holder takes for done',
    remedy: '`ALTER ROLE <role> SET synchronous_commit = on`',
    judge({ server: { synchronousCommit: setting } }) {
      const text = `synchronous_commit is ${setting}`;
      return ['on', 'remote_apply'].includes(setting) ? ok(text) : note(text);
    },
  },
  {
    id: 'postgres-standbys',
    severities: ['critical', 'warning', 'note'],
    risk: 'a failover to a standby that is not synchronous forgets the last grants: a second holder is granted the name while the first still believes',
    remedy:
      "`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'` and `SELECT pg_reload_conf()`, fail over to synchronous ones alone, and fence what the holder writes to",
    judge: ({ standbys, server }) =>
      ifSeen(standbys, (all) => {
        const synchronous = all.filter(({ state }) => ['sync', 'quorum'].includes(state)).length;
        const text = `${counted(all.length, 'standby', 'standbys')}, ${synchronous} synchronous`;
        const needed = synchronousNeeded(server.synchronousStandbyNames);
        if (synchronous < needed)
          return critical(`${text}, and synchronous_standby_names demands ${needed}`, {
            risk: 'every commit waits for a standby that is not there: no lease is granted or renewed',
            remedy:
              'bring a synchronous standby back, or name those that are there in synchronous_standby_names',
          });
        if (all.length === 0) return ok('none, so that nothing fails over');
        if (synchronous === 0) return warning(text);
        if (synchronous === all.length) return ok(text);
        return note(text, {
          risk: 'a failover to one of the others forgets the last grants',
          remedy: 'fail over to synchronous ones alone, and fence what the holder writes to',
        });
      }),
  },
  {
    id: 'postgres-pooler',
    severities: ['note'],
    risk: 'leases are safe there, but notifications do not come through: who waits asks twice a second, and hears of a free name that much later',
    remedy:
      'for quick handovers give tenure a URL that goes past the pooler, or a pool in session mode',
    judge({ pooler }) {
      if (pooler === 'none') return ok('none: the server itself answers');
      if (pooler === 'session')
        return ok('a pooler that gives each connection a session of its own');
      return note('a pooler in transaction mode: two connections were served by one session');
    },
  },
  {
    id: 'postgres-schema',
    severities: ['critical', 'warning'],
    risk: 'tenure refuses the database until its tables are there in its own version',
    remedy: '`tenure migrate --url postgres://...`, with a role that may create them',
    judge: ({ schema }) => ifSeen(schema.versions, (versions) => judgeSchema(schema, versions)),
  },
  {
    id: 'postgres-rights',
    severities: ['critical'],
    risk: 'what needs them is refused',
    remedy: 'grant the role what is listed below, as the owner of the schema',
    judge({ schema: { missing, versions }, role }) {
      // What is not there, nobody may use.
      if (factOf(versions)?.leases === undefined && missing.length === 0) return undefined;
      if (missing.length === 0) return ok(`role ${role.name} may use what is in the schema`);
      return critical(`role ${role.name} may not: ${missing.join(', ')}`);
    },
  },
  {
    id: 'postgres-rights-broad',
    severities: ['warning', 'note'],
    risk: 'whoever has the password, or a mistake, ends all leases, or the database',
    remedy: 'make a role that owns nothing, with the rights that are listed below',
    judge({ role: { name, isSuperuser, ownsTables }, isLocal }) {
      if (!isSuperuser && !ownsTables) return ok(`role ${name} owns nothing there`);
      const text = isSuperuser
        ? `role ${name} is a superuser`
        : `role ${name} owns what is in the schema`;
      return isLocal ? note(text) : warning(text);
    },
  },
  {
    id: 'postgres-connections',
    severities: ['warning'],
    risk: 'a process that has lost its connection gets no other one, and its leases end',
    remedy: '`ALTER SYSTEM SET max_connections` to more and restart, or put a pooler in between',
    judge({ connections: { taken, all } }) {
      const text = `${taken} of ${all} connections are taken`;
      return taken > all * nearlyFull ? warning(text) : ok(text);
    },
  },
  {
    id: 'postgres-encoding',
    severities: ['warning'],
    risk: 'names and metadata that it cannot hold are refused',
    remedy: '`CREATE DATABASE ... ENCODING UTF8`, and leases in that',
    judge: ({ server: { encoding } }) =>
      encoding === 'UTF8' ? ok(encoding) : warning(`the database has the encoding ${encoding}`),
  },
  {
    id: 'postgres-log',
    severities: ['note'],
    risk: 'the log then holds the nonces of holders, and whoever reads it may act as one',
    remedy:
      '`ALTER ROLE <role> SET log_statement = none` and log_min_duration_statement = -1, or log_parameter_max_length = 0',
    judge: ({ server: { logsStatements } }) =>
      logsStatements
        ? note('the server logs statements with their parameters')
        : ok('statements are not logged'),
  },
];

/** `FIRST 2 (a, b, c)`, `ANY 1 (*)`, `2 (a, b)`, or a list of which the first that is there is one. */
function synchronousNeeded(names: string): number {
  if (names.trim() === '') return 0;
  return Number(/^\s*(?:FIRST\s+|ANY\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1);
}

function judgeSchema({ name, absent, isBegun }: SchemaFacts, { leases, jobs }: Versions): Verdict {
  if (leases === undefined)
    return isBegun
      ? critical(
          `schema ${name} does not say its version of leases, and lacks ${sayParts(absent.leases)}`,
          {
            risk: 'every lease is refused',
            remedy: `if this is another program's schema, choose one for tenure (\`?schema=NAME\`); else ${remedyForParts(name)}`,
          },
        )
      : critical(`schema ${name} holds no tables of leases`);
  const text = `schema ${name}, version ${leases} of leases`;
  if (leases < leasesVersion) return critical(`${text}, and ${leasesVersion} is needed`);
  if (leases > leasesVersion)
    return critical(`${text}, and this tenure knows ${leasesVersion}`, {
      remedy: 'upgrade tenure here: a newer one has migrated the schema',
    });
  if (absent.leases.length > 0)
    return critical(`${text}, lacks ${sayParts(absent.leases)}`, {
      risk: 'leases are refused, as soon as what is missing is needed',
      remedy: remedyForParts(name),
    });
  if (jobs === undefined)
    return warning(`${text}, and no tables of jobs`, {
      risk: 'scheduled jobs are refused; leases are not',
    });
  if (absent.jobs.length > 0)
    return critical(`${text}, lacks ${sayParts(absent.jobs)} of jobs`, {
      risk: 'scheduled jobs are refused; leases are not',
      remedy: remedyForParts(name),
    });
  return ok(text);
}

const fewParts = 6;

function sayParts(parts: readonly string[]): string {
  const more = parts.length - fewParts;
  const told = parts.slice(0, fewParts).join(', ');
  return more > 0 ? `${told} and ${more} more` : told;
}

/** The migration looks at versions alone. Fences, and `once`, may keep in the same schema what must not be lost. */
function remedyForParts(name: string): string {
  return `\`tenure migrate\` does not mend it: restore the schema from a backup; or, with all that uses it stopped, \`ALTER SCHEMA ${name} RENAME TO ${name}_old\` and \`tenure migrate\`, which loses leases, histories, suspensions, jobs and their runs, grant the rights anew, and copy what fences and once have kept there (\`INSERT INTO ${name}.fences TABLE ${name}_old.fences\`, and so for effects and once_keys)`;
}
