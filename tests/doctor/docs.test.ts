import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Check } from '../../src/doctor/check.js';
import { etcdChecks } from '../../src/doctor/etcd/judge.js';
import { checksEverywhere } from '../../src/doctor/everywhere.js';
import { postgresChecks } from '../../src/doctor/postgres/judge.js';
import { serverChecks } from '../../src/doctor/redis/judge.js';
import { clusterChecks } from '../../src/doctor/redis/judge-cluster.js';
import { quorumChecks } from '../../src/doctor/redis/judge-quorum.js';
import { sentinelChecks } from '../../src/doctor/redis/judge-sentinels.js';
import { sqliteChecks } from '../../src/doctor/sqlite/judge.js';
import { zookeeperChecks } from '../../src/doctor/zookeeper/judge.js';

const page = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');

type AnyCheck = Omit<Check<never>, 'judge'>;

const sections: readonly (readonly [heading: string, checks: readonly AnyCheck[]])[] = [
  ['On every store', checksEverywhere],
  ['Redis', serverChecks],
  ['Redis with sentinels', sentinelChecks],
  ['Redis Cluster', clusterChecks],
  ['Redis quorum', quorumChecks],
  ['etcd', etcdChecks],
  ['PostgreSQL', postgresChecks],
  ['ZooKeeper', zookeeperChecks],
  ['SQLite', sqliteChecks],
];

const escaped = (text: string) => text.replaceAll('|', '\\|');
const rowOf = ({ id, severities, risk, remedy }: AnyCheck) =>
  `| \`${id}\` | ${severities.join(', ')} | ${escaped(risk)} | ${escaped(remedy)} |`;

/** The rows of the tables below a heading, up to the next one of the same level. */
function rowsBelow(heading: string): string[] {
  const [, section = ''] = page.split(`\n### ${heading}\n`);
  const [own = ''] = section.split('\n### ');
  return own.split('\n').filter((line) => line.startsWith('| `'));
}

describe('the page about the doctor', () => {
  it.each(sections)('%s: lists what the code may find, in its words', (heading, checks) => {
    expect(rowsBelow(heading)).toEqual(checks.map(rowOf));
  });

  it('has no other findings', () => {
    const count = sections.reduce((sum, [, checks]) => sum + checks.length, 0);
    const listed = page
      .split('\n')
      .filter((line) => /^\| `[a-z-]+` \| (?:critical|warning|note)/.test(line));
    expect(listed).toHaveLength(count);
  });

  it('names every finding once', () => {
    const ids = sections.flatMap(([, checks]) => checks.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
  });
});
