import { describe, expect, it } from 'vitest';
import { sqlitePromises } from '../../src/coordinators/sqlite/promises.js';
import { leaseSchema } from '../../src/coordinators/sqlite/schema.js';
import { judgeAll } from '../../src/doctor/check.js';
import type {
  ContentFacts,
  FileFacts,
  FileSystemFacts,
  FolderFacts,
  SqliteFacts,
} from '../../src/doctor/sqlite/facts.js';
import { sqliteChecks } from '../../src/doctor/sqlite/judge.js';
import { mountOf } from '../../src/doctor/sqlite/mounts.js';
import { describeVerdicts } from './verdicts.js';

const gibibyte = 1024 ** 3;
const fileSystem: FileSystemFacts = {
  ...{ kind: 'ext4', isShared: false, isReadOnly: false, freeBytes: gibibyte },
};
const folder: FolderFacts = {
  ...{
    path: '/var/lib/tenure',
    isThere: true,
    isMadeWhenNeeded: false,
    isWritable: true,
    isOpenToAll: false,
    fileSystem,
  },
};
const { applicationId } = leaseSchema;
const file: FileFacts = {
  ...{
    isFile: true,
    isReadable: true,
    isWritable: true,
    uid: 7,
    mode: 0o100600,
    sizeBytes: 4_096,
    logBytes: 0,
  },
  head: { isWal: true, applicationId },
};
const path = '/var/lib/tenure/tenure.db';
const facts: SqliteFacts = { promises: sqlitePromises, path, folder, file, uid: 7 };
const { file: _, ...missing } = facts;
const inFolder = (other: Partial<FolderFacts>): SqliteFacts => {
  return { ...facts, folder: { ...folder, ...other } };
};
const on = (other: Partial<FileSystemFacts>) => {
  return inFolder({ fileSystem: { ...fileSystem, ...other } });
};
const withFile = (other: Partial<FileFacts>): SqliteFacts => {
  return { ...facts, file: { ...file, ...other } };
};
const withContent = (content: ContentFacts, other: Partial<FileFacts> = {}): SqliteFacts => {
  return { ...withFile(other), content: { fact: content } };
};
const foreignHead = { isWal: true, applicationId: 0 };
const noFolder = {
  ...{ path: '/none', isThere: false, isMadeWhenNeeded: false, isWritable: false },
  isOpenToAll: false,
};
const nowhere: SqliteFacts = { ...facts, folder: noFolder };

describeVerdicts('what is looked at around a SQLite file', sqliteChecks, [
  { id: 'sqlite-library', verdict: 'ok', facts },
  {
    ...{ id: 'sqlite-library', verdict: 'critical', says: 'not installed' },
    facts: { ...facts, missingLibrary: 'libsql is not installed' },
  },
  { id: 'sqlite-folder', verdict: 'ok', facts },
  { id: 'sqlite-folder', verdict: 'critical', facts: nowhere, says: 'no folder' },
  {
    ...{ id: 'sqlite-folder', verdict: 'note', says: 'no folder /none yet' },
    facts: { ...facts, folder: { ...noFolder, isMadeWhenNeeded: true } },
  },
  { id: 'sqlite-folder', verdict: 'critical', facts: inFolder({ isWritable: false }) },
  {
    ...{ id: 'sqlite-folder', verdict: 'critical', says: 'may not enter a folder' },
    facts: { ...facts, folder: { ...noFolder, refusal: 'EACCES' } },
  },
  {
    ...{ id: 'sqlite-folder', verdict: 'critical', says: '(EIO)' },
    facts: { ...facts, folder: { ...noFolder, refusal: 'EIO' } },
  },
  { id: 'sqlite-folder', verdict: 'warning', facts: inFolder({ isOpenToAll: true }) },
  { id: 'sqlite-file-system', verdict: 'ok', facts, says: 'ext4' },
  { id: 'sqlite-file-system', verdict: 'critical', facts: on({ kind: 'NFS', isShared: true }) },
  { id: 'sqlite-file-system', verdict: 'critical', facts: on({ isReadOnly: true }) },
  {
    id: 'sqlite-file-system',
    verdict: 'warning',
    facts: on({ kind: 'overlay' }),
    says: 'container',
  },
  { id: 'sqlite-file-system', verdict: 'warning', facts: on({ kind: 'tmpfs' }), says: 'machine' },
  { id: 'sqlite-file-system', verdict: undefined, facts: nowhere },
  { id: 'sqlite-space', verdict: 'ok', facts, says: '1 GiB' },
  { id: 'sqlite-space', verdict: 'warning', facts: on({ freeBytes: 60 * 1024 ** 2 }) },
  { id: 'sqlite-space', verdict: 'critical', facts: on({ freeBytes: 4_096 }), says: '4 KiB' },
  { id: 'sqlite-space', verdict: undefined, facts: nowhere },
  { id: 'sqlite-file', verdict: 'ok', facts },
  { id: 'sqlite-file', verdict: 'ok', facts: withFile({ sizeBytes: 0, head: undefined }) },
  {
    ...{ id: 'sqlite-file', verdict: 'ok' },
    facts: withContent({ kind: 'own' }, { head: foreignHead, logBytes: 1 }),
  },
  {
    ...{ id: 'sqlite-file', verdict: 'critical', says: 'another program' },
    facts: withContent({ kind: 'foreign' }, { head: foreignHead, logBytes: 1 }),
  },
  {
    ...{ id: 'sqlite-file', verdict: 'critical', says: '(EACCES)' },
    facts: { ...missing, fileRefusal: 'EACCES' },
  },
  {
    ...{ id: 'sqlite-file', verdict: 'critical', says: 'link to /none' },
    facts: { ...missing, deadLink: '/none' },
  },
  { id: 'sqlite-file', verdict: 'note', facts: missing, says: 'no /var/lib/tenure/tenure.db yet' },
  { id: 'sqlite-file', verdict: 'critical', facts: withFile({ isFile: false }) },
  {
    ...{ id: 'sqlite-file', verdict: 'critical', says: 'read and write /x-shm' },
    facts: withFile({ closedBeside: '/x-shm' }),
  },
  { id: 'sqlite-file', verdict: 'critical', facts: withFile({ isWritable: false }) },
  {
    id: 'sqlite-file',
    verdict: 'critical',
    facts: withFile({ head: undefined }),
    says: 'no database',
  },
  {
    ...{ id: 'sqlite-file', verdict: 'critical', says: 'another program' },
    facts: withContent({ kind: 'foreign' }, { head: foreignHead }),
  },
  { id: 'sqlite-content', verdict: 'ok', facts: withContent({ kind: 'own' }) },
  {
    ...{ id: 'sqlite-content', verdict: 'critical', says: 'damaged: row 1 missing' },
    facts: withContent({ kind: 'own', damage: 'row 1 missing' }),
  },
  {
    ...{ id: 'sqlite-content', verdict: 'critical', says: 'no such table' },
    facts: withContent({ kind: 'own', refusal: 'no such table: lease' }),
  },
  {
    ...{ id: 'sqlite-content', verdict: 'unseen', says: 'too large' },
    facts: { ...facts, content: { because: 'too large', grant: 'look elsewhere' } },
  },
  { id: 'sqlite-content', verdict: undefined, facts: missing },
  { id: 'sqlite-journal', verdict: 'ok', facts },
  {
    ...{ id: 'sqlite-journal', verdict: 'note' },
    facts: withFile({ head: { isWal: false, applicationId } }),
  },
  { id: 'sqlite-journal', verdict: undefined, facts: missing },
  { id: 'sqlite-log', verdict: 'ok', facts },
  { id: 'sqlite-log', verdict: 'warning', facts: withFile({ logBytes: gibibyte }), says: '1 GiB' },
  { id: 'sqlite-log', verdict: undefined, facts: missing },
  { id: 'sqlite-owner', verdict: 'ok', facts },
  { id: 'sqlite-owner', verdict: 'warning', facts: withFile({ uid: 8 }) },
  { id: 'sqlite-owner', verdict: undefined, facts: { ...facts, uid: undefined } },
  { id: 'sqlite-mode', verdict: 'ok', facts, says: '600' },
  { id: 'sqlite-mode', verdict: 'ok', facts: withFile({ mode: 0o100660 }) },
  { id: 'sqlite-mode', verdict: 'warning', facts: withFile({ mode: 0o100604 }), says: '604' },
  { id: 'sqlite-mode', verdict: undefined, facts: missing },
  { id: 'sqlite-lock', verdict: 'ok', facts },
  {
    ...{ id: 'sqlite-lock', verdict: 'note', says: 'process 4711' },
    facts: { ...facts, lockHolder: { pid: 4_711, isStopped: false } },
  },
  {
    ...{ id: 'sqlite-lock', verdict: 'critical' },
    facts: { ...facts, lockHolder: { pid: 4_711, isStopped: true } },
  },
]);

describe('what is no database of tenure', () => {
  it.each([
    ['no file at all', withFile({ isFile: false, mode: 0o020666, head: undefined, uid: 0 })],
    ['no database', withFile({ mode: 0o100666, head: undefined, uid: 8 })],
    [
      'a database of another program',
      withContent({ kind: 'foreign' }, { head: foreignHead, mode: 0o100666, uid: 8 }),
    ],
  ])('%s: is told of, and no command is given that would change it', (_, others) => {
    const findings = judgeAll(sqliteChecks, others, { ttlMs: 30_000, namespace: 'default' });
    const told = findings.filter(({ severity }) => severity !== 'ok');
    expect(told.map(({ id }) => id)).toEqual(['sqlite-file']);
    expect(told[0]?.remedy).toBe('name another path; what is there was left as it is');
  });
});

describe('the mount of a path', () => {
  const mounts = [
    'overlay / overlay rw,relatime 0 0',
    '/dev/sda1 /srv ext4 rw 0 0',
    'fileserver:/home /srv/my\\040leases nfs4 ro,vers=4.2 0 0',
    '/dev/sdb1 /srv/b xfs rw 0 0',
    'tmpfs /srv/b tmpfs rw 0 0',
    '',
  ].join('\n');

  it.each([
    ['/var/lib', 'overlay', false],
    ['/srv', 'ext4', false],
    ['/srv/my leases/x', 'nfs4', true],
    ['/srv/my leases2', 'ext4', false],
    ['/srv/b/c', 'tmpfs', false],
  ])('%s is on %s', (of, kind, isReadOnly) => {
    expect(mountOf(mounts, of)).toMatchObject({ kind, isReadOnly });
  });

  it('is unknown where there is no list', () => {
    expect(mountOf('', '/var')).toBeUndefined();
  });
});
