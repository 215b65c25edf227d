import { postgresPromises } from '../../src/coordinators/postgres/promises.js';
import { seen, unseen } from '../../src/doctor/check.js';
import type {
  PostgresFacts,
  RoleFacts,
  SchemaFacts,
  ServerFacts,
} from '../../src/doctor/postgres/facts.js';
import { postgresChecks } from '../../src/doctor/postgres/judge.js';
import { describeVerdicts } from './verdicts.js';

const server: ServerFacts = {
  ...{ version: 150_004, isInRecovery: false, isReadOnly: false, encoding: 'UTF8', fsync: true },
  ...{ fullPageWrites: true, synchronousCommit: 'on', synchronousStandbyNames: '' },
  logsStatements: false,
};
const versions = { leases: 1, jobs: 1 };
const schema: SchemaFacts = {
  ...{ name: 'tenure', versions: seen(versions), missing: [], isBegun: true },
  absent: { leases: [], jobs: [] },
};
const lacking = (absent: Partial<SchemaFacts['absent']>): PostgresFacts => {
  return { ...facts, schema: { ...schema, absent: { ...schema.absent, ...absent } } };
};
const role: RoleFacts = { name: 'leaser', isSuperuser: false, ownsTables: false };
const facts: PostgresFacts = {
  promises: postgresPromises,
  ...{ isLocal: false, server, pooler: 'none', schema, role, standbys: seen([]) },
  connections: { taken: 90, all: 100 },
};
const withServer = (other: Partial<ServerFacts>): PostgresFacts => {
  return { ...facts, server: { ...server, ...other } };
};
const withVersions = (other: { leases?: number | undefined; jobs?: number | undefined }) => {
  return { ...facts, schema: { ...schema, versions: seen({ ...versions, ...other }) } };
};
const withRole = (other: Partial<RoleFacts>, isLocal = false): PostgresFacts => {
  return { ...facts, isLocal, role: { ...role, ...other } };
};
const standbys = (names: string, ...states: string[]): PostgresFacts => {
  const all = states.map((state) => ({ name: 's', state }));
  return { ...withServer({ synchronousStandbyNames: names }), standbys: seen(all) };
};
const denied = unseen('role leaser may not see of which kind', 'GRANT pg_read_all_stats TO leaser');
const unread = unseen('the role may not read the versions', 'grant it what is below');

describeVerdicts('what is looked at on PostgreSQL', postgresChecks, [
  { id: 'postgres-version', verdict: 'ok', facts, says: 'PostgreSQL 15.4' },
  { id: 'postgres-version', verdict: 'warning', facts: withServer({ version: 130_012 }) },
  { id: 'postgres-recovery', verdict: 'ok', facts },
  { id: 'postgres-recovery', verdict: 'critical', facts: withServer({ isInRecovery: true }) },
  { id: 'postgres-read-only', verdict: 'ok', facts },
  { id: 'postgres-read-only', verdict: 'critical', facts: withServer({ isReadOnly: true }) },
  { id: 'postgres-fsync', verdict: 'ok', facts },
  { id: 'postgres-fsync', verdict: 'critical', facts: withServer({ fsync: false }) },
  { id: 'postgres-full-page-writes', verdict: 'ok', facts },
  {
    ...{ id: 'postgres-full-page-writes', verdict: 'critical' },
    facts: withServer({ fullPageWrites: false }),
  },
  { id: 'postgres-synchronous-commit', verdict: 'ok', facts },
  {
    ...{ id: 'postgres-synchronous-commit', verdict: 'ok' },
    facts: withServer({ synchronousCommit: 'remote_apply' }),
  },
  ...['off', 'local', 'remote_write'].map((synchronousCommit) => ({
    ...({ id: 'postgres-synchronous-commit', verdict: 'note', says: synchronousCommit } as const),
    facts: withServer({ synchronousCommit }),
  })),
  { id: 'postgres-standbys', verdict: 'ok', facts, says: 'none' },
  { id: 'postgres-standbys', verdict: 'ok', facts: standbys('s', 'sync') },
  { id: 'postgres-standbys', verdict: 'ok', facts: standbys('ANY 1 (*)', 'quorum', 'quorum') },
  { id: 'postgres-standbys', verdict: 'note', facts: standbys('s', 'sync', 'potential') },
  { id: 'postgres-standbys', verdict: 'warning', facts: standbys('', 'async'), says: '1 standby' },
  { id: 'postgres-standbys', verdict: 'critical', facts: standbys('s'), says: 'demands 1' },
  { id: 'postgres-standbys', verdict: 'critical', facts: standbys('s', 'async') },
  {
    ...{ id: 'postgres-standbys', verdict: 'critical', says: '1 synchronous, and' },
    facts: standbys('FIRST 2 (a, b)', 'sync', 'async'),
  },
  { id: 'postgres-standbys', verdict: 'unseen', facts: { ...facts, standbys: denied } },
  { id: 'postgres-pooler', verdict: 'ok', facts, says: 'none' },
  { id: 'postgres-pooler', verdict: 'ok', facts: { ...facts, pooler: 'session' } },
  { id: 'postgres-pooler', verdict: 'note', facts: { ...facts, pooler: 'transaction' } },
  { id: 'postgres-schema', verdict: 'ok', facts },
  { id: 'postgres-schema', verdict: 'critical', facts: withVersions({ leases: undefined }) },
  { id: 'postgres-schema', verdict: 'critical', facts: withVersions({ leases: 0 }) },
  { id: 'postgres-schema', verdict: 'critical', facts: withVersions({ leases: 2 }) },
  {
    ...{ id: 'postgres-schema', verdict: 'critical', says: 'lacks column leases.term' },
    facts: lacking({ leases: ['column leases.term'] }),
  },
  {
    ...{ id: 'postgres-schema', verdict: 'critical', says: 'lacks a, a, a, a, a, a and 2 more' },
    facts: lacking({ leases: Array.from({ length: 8 }, () => 'a') }),
  },
  {
    ...{ id: 'postgres-schema', verdict: 'critical', says: 'lacks table runs of jobs' },
    facts: lacking({ jobs: ['table runs'] }),
  },
  {
    ...{ id: 'postgres-schema', verdict: 'critical', says: 'holds no tables' },
    facts: {
      ...facts,
      schema: { ...schema, isBegun: false, versions: seen({ ...versions, leases: undefined }) },
    },
  },
  { id: 'postgres-schema', verdict: 'warning', facts: withVersions({ jobs: undefined }) },
  {
    ...{ id: 'postgres-schema', verdict: 'unseen' },
    facts: { ...facts, schema: { ...schema, versions: unread } },
  },
  { id: 'postgres-rights', verdict: 'ok', facts },
  {
    ...{ id: 'postgres-rights', verdict: 'critical', says: 'may not: SELECT ON leases' },
    facts: { ...facts, schema: { ...schema, versions: unread, missing: ['SELECT ON leases'] } },
  },
  { id: 'postgres-rights', verdict: undefined, facts: withVersions({ leases: undefined }) },
  { id: 'postgres-rights-broad', verdict: 'ok', facts },
  { id: 'postgres-rights-broad', verdict: 'warning', facts: withRole({ isSuperuser: true }) },
  { id: 'postgres-rights-broad', verdict: 'note', facts: withRole({ ownsTables: true }, true) },
  { id: 'postgres-connections', verdict: 'ok', facts },
  {
    ...{ id: 'postgres-connections', verdict: 'warning' },
    facts: { ...facts, connections: { taken: 91, all: 100 } },
  },
  { id: 'postgres-encoding', verdict: 'ok', facts },
  { id: 'postgres-encoding', verdict: 'warning', facts: withServer({ encoding: 'LATIN1' }) },
  { id: 'postgres-log', verdict: 'ok', facts },
  { id: 'postgres-log', verdict: 'note', facts: withServer({ logsStatements: true }) },
]);
