import { postgresPromises } from '../../coordinators/postgres/promises.js';
import { classifyPostgresError } from '../../drivers/postgres/errors.js';
import { quoteSchema } from '../../drivers/postgres/identifiers.js';
import { PostgresLink } from '../../drivers/postgres/link.js';
import { type Looked, seen, unseen } from '../check.js';
import type { Purpose } from '../finding.js';
import { sound } from '../soundings.js';
import { isLoopback, type Way } from '../way.js';
import { absentFrom, expected } from './expected.js';
import type {
  Pooler,
  PostgresFacts,
  RoleFacts,
  SchemaFacts,
  ServerFacts,
  Standby,
  Versions,
} from './facts.js';
import * as statements from './statements.js';

type Ask = <Row extends object>(text: string, ...values: unknown[]) => Promise<Row[]>;

/**
 * All that is asked of a database. Nothing of it writes.
 *
 * @param url without a schema. @throws {TenureError} if it cannot be reached, or lets nobody in.
 */
export async function lookAtDatabase(
  url: string,
  schema: string,
  purpose: Purpose,
): Promise<PostgresFacts> {
  const link = await open(url, purpose);
  try {
    const ask = asker(link, purpose);
    const pooler = await lookAtPooler(link, ask, url, purpose);
    const server = await one<ServerFacts>(ask, statements.serverQuestion);
    const role = await one<RoleFacts & SeesStandbys>(ask, statements.roleQuestion, schema);
    const soundings = await sound(purpose.runtime, async () => {
      return (await one<{ nowMs: number }>(ask, statements.clockQuestion)).nowMs;
    });
    return {
      promises: postgresPromises,
      ...{ soundings, way: wayOf(url), isLocal: wayOf(url).isLocal, server, pooler, role },
      schema: await lookAtSchema(ask, schema),
      standbys: await lookAtStandbys(ask, role),
      connections: await one(ask, statements.connectionsQuestion),
    };
  } finally {
    link.end('it has answered');
  }
}

async function open(url: string, { runtime, timeoutMs, signal }: Purpose): Promise<PostgresLink> {
  try {
    return await PostgresLink.open(url, runtime, timeoutMs, signal);
  } catch (error) {
    throw classifyPostgresError(error, 'connect', 'connecting');
  }
}

function asker(link: PostgresLink, { runtime, timeoutMs }: Purpose): Ask {
  return async <Row extends object>(text: string, ...values: unknown[]) => {
    try {
      const deadlineMs = runtime.now().monotonicMs + timeoutMs;
      return (await link.query<Row>(text, values, deadlineMs)).rows;
    } catch (error) {
      throw classifyPostgresError(error, 'read', 'the question');
    }
  };
}

async function one<Row extends object>(ask: Ask, text: string, ...values: unknown[]): Promise<Row> {
  const [row] = await ask<Row>(text, ...values);
  return row as Row;
}

/**
 * A pooler tells numbers of its own when somebody connects. Whether it gives a session to whoever asks next shows when two
 * connections take turns.
 */
async function lookAtPooler(
  link: PostgresLink,
  ask: Ask,
  url: string,
  purpose: Purpose,
): Promise<Pooler> {
  const pidOf = async (asked: Ask) =>
    (await one<{ pid: number }>(asked, statements.backendQuestion)).pid;
  if ((await pidOf(ask)) === link.processId) return 'none';
  const other = await open(url, purpose);
  try {
    const askOther = asker(other, purpose);
    for (let turn = 0; turn < 3; turn++)
      if ((await pidOf(ask)) === (await pidOf(askOther))) return 'transaction';
    return 'session';
  } finally {
    other.end('it has answered');
  }
}

async function lookAtSchema(ask: Ask, name: string): Promise<SchemaFacts> {
  type There = { readonly isThere: boolean; readonly isReadable: boolean };
  const { isThere, isReadable } = await one<There>(ask, statements.versionsTableQuestion, name);
  const missing = await ask<{ missing: string }>(statements.missingQuestion, name);
  const parts = await ask<{ part: string }>(statements.presentQuestion, name);
  const present = new Set(parts.map(({ part }) => part));
  return {
    name,
    versions:
      isThere && !isReadable
        ? unseen(`the role may not read the versions of schema ${name}`, 'grant it what is below')
        : seen(isThere ? await versionsIn(ask, name) : { leases: undefined, jobs: undefined }),
    absent: {
      leases: absentFrom(present, expected.leases),
      jobs: absentFrom(present, expected.jobs),
    },
    isBegun: expected.leases.some((part) => present.has(part)),
    missing: missing.map((row) => row.missing),
  };
}

async function versionsIn(ask: Ask, schema: string): Promise<Versions> {
  type Row = { readonly part: string; readonly version: number };
  const rows = await ask<Row>(statements.versionsQuestion(quoteSchema(schema)));
  const versionOf = (part: string) => rows.find((row) => row.part === part)?.version;
  return { leases: versionOf('leases'), jobs: versionOf('jobs') };
}

interface SeesStandbys {
  readonly seesStandbys: boolean;
}

async function lookAtStandbys(
  ask: Ask,
  { seesStandbys, name }: RoleFacts & SeesStandbys,
): Promise<Looked<readonly Standby[]>> {
  const rows = await ask<{ name: string; state: string | null }>(statements.standbysQuestion);
  if (rows.length > 0 && !seesStandbys)
    return unseen(
      `there are standbys, and role ${name} may not see of which kind`,
      `GRANT pg_read_all_stats TO ${name}`,
    );
  return seen(rows.map((row) => ({ name: row.name, state: row.state ?? 'async' })));
}

function wayOf(url: string): Way {
  const { hostname, password, searchParams } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1') || (searchParams.get('host') ?? 'localhost');
  const mode = searchParams.get('sslmode') ?? (searchParams.get('ssl') ? 'require' : 'disable');
  return {
    host,
    isTls: !['disable', 'false', '0'].includes(mode),
    // A path is a socket of this machine.
    isLocal: host.startsWith('/') || isLoopback(host),
    hasPassword: password !== '' || (process.env.PGPASSWORD ?? '') !== '',
    tlsRemedy:
      'give the server a certificate (ssl = on), and end the URL with ?sslmode=verify-full',
  };
}
