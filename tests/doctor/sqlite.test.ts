import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import type { Finding } from '../../src/doctor/finding.js';
import { loadSqlite } from '../../src/drivers/sqlite/index.js';
import { sqliteCoordinator } from '../../src/sqlite.js';
import { realRuntime } from '../../src/time/index.js';
import { NodeProgram } from '../support/node-program.js';
import { doctor } from './doctor.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** What the machine of the tests is, not what they are about. */
const ofMachine = ['sqlite-file-system', 'sqlite-space'];

describe('the doctor on a SQLite file', () => {
  let folder: string;
  let path: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tenure-doctor-'));
    path = join(folder, 'tenure.db');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const faults = ({ findings }: Awaited<ReturnType<typeof doctor>>) =>
    findings
      .filter(({ id, severity }) => severity !== 'ok' && !ofMachine.includes(id))
      .map(({ id, severity }) => [id, severity]);

  async function used(at: string): Promise<void> {
    const coordinator = sqliteCoordinator(at);
    const holder = Holder.create('ann', realRuntime);
    const request = { name: 'job', holder, attempt: realRuntime.randomHex(16), ttlMs: 30_000 };
    await coordinator.acquire([request], { timeoutMs: 30_000 });
    await coordinator.close();
  }

  /** Executes it, and leaves all of it in the file itself. */
  async function changed(at: string, sql = ''): Promise<void> {
    const database = (await loadSqlite()).open(at);
    database.exec(sql);
    database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
    database.close();
  }

  /** Of a database that is in its file whole: what stands beside it goes when the garbage of whoever had it open is collected. */
  function leftAsItIs(at: string): () => void {
    const files = () => readdirSync(dirname(at));
    const before = { files: files(), bytes: readFileSync(at) };
    return () => {
      expect(before.files).toEqual(expect.arrayContaining(files()));
      expect(readFileSync(at)).toEqual(before.bytes);
    };
  }

  it('makes no file where there is none', async () => {
    const report = await doctor(`sqlite:${path}`);
    expect(faults(report)).toEqual([['sqlite-file', 'note']]);
    expect(report.status).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('finds nothing on a good one, and leaves it as it is', async () => {
    await used(path);
    await changed(path);
    const expectAsBefore = leftAsItIs(path);
    const report = await doctor(`sqlite:${path}`);
    expect(faults(report)).toEqual([]);
    expect(report.find('sqlite-journal').seen).toBe('WAL, and tenure writes with synchronous FULL');
    expect(report.find('sqlite-file-system').seen).toBeTruthy();
    expectAsBefore();
  });

  it('takes no offence at a default that nobody has used yet', async () => {
    vi.stubEnv('XDG_STATE_HOME', join(folder, 'state'));
    vi.stubEnv('TENURE_URL', '');
    try {
      const report = await doctor();
      expect(faults(report)).toEqual([
        ['sqlite-folder', 'note'],
        ['sqlite-file', 'note'],
      ]);
      expect(report.status).toBe(0);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('finds another journal mode, and a file that is open to everybody', async () => {
    const [other, copy] = [join(folder, 'other.db'), join(folder, 'copy.db')];
    await used(copy);
    await changed(copy);
    // Its head says with which journal it was written last, and may be.
    writeFileSync(other, readFileSync(copy).fill(1, 18, 20));
    chmodSync(other, 0o666);
    expect(faults(await doctor(`sqlite:${other}`))).toEqual(
      [
        ['sqlite-mode', 'warning'],
        ['sqlite-journal', 'note'],
      ].sort(),
    );
  });

  it('finds a folder that is missing, a file of something else, and one of another program', async () => {
    const nowhere = await doctor(`sqlite:${join(folder, 'none', 'tenure.db')}`);
    expect(nowhere.of('critical')).toEqual(['sqlite-folder']);
    expect(nowhere.status).toBe(78);
    const text = join(folder, 'text.db');
    writeFileSync(text, 'no database '.repeat(20), { mode: 0o600 });
    expect((await doctor(`sqlite:${text}`)).find('sqlite-file').seen).toContain('is no database');
    const foreign = join(folder, 'foreign.db');
    const database = (await loadSqlite()).open(foreign);
    database.exec('CREATE TABLE t (x)');
    database.close();
    expect((await doctor(`sqlite:${foreign}`)).find('sqlite-file').seen).toContain(
      'another program',
    );
  });

  it('gives no command that would change what is not its own', async () => {
    const foreign = join(folder, 'notes.db');
    const database = (await loadSqlite()).open(foreign);
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (x)');
    // While another program has it open, its head may stand in the file beside it alone.
    try {
      chmodSync(foreign, 0o666);
      const pipe = join(folder, 'pipe.db');
      execFileSync('mkfifo', [pipe]);
      for (const other of [foreign, pipe, folder, '/dev/null']) {
        const report = await doctor(`sqlite:${other}`);
        const told = faults(report).filter(([id]) => id !== 'sqlite-folder');
        expect(told, other).toEqual([['sqlite-file', 'critical']]);
        expect(report.find('sqlite-file').remedy).toContain('name another path');
        expect(report.status).toBe(78);
      }
    } finally {
      database.close();
    }
  });

  it('finds a link that leads nowhere, and one that leads in a circle', async () => {
    const [dead, circle] = [join(folder, 'dead.db'), join(folder, 'circle.db')];
    symlinkSync(join(folder, 'gone', 'x.db'), dead);
    symlinkSync(circle, circle);
    const nowhere = await doctor(`sqlite:${dead}`);
    expect(nowhere.of('critical')).toEqual(['sqlite-file']);
    expect(nowhere.find('sqlite-file').seen).toContain('where nothing is');
    expect(nowhere.status).toBe(78);
    expect((await doctor(`sqlite:${circle}`)).find('sqlite-file').seen).toContain('(ELOOP)');
    const below = await doctor(`sqlite:${join(folder, 'tenure.db', 'x.db')}`);
    expect(below.of('critical')).toEqual(['sqlite-folder', 'sqlite-file']);
    expect(below.status).toBe(78);
  });

  it.each([
    ['whose pages were overwritten', (bytes: Buffer) => bytes.fill(0xa5, 4_096, 16_384)],
    ['that was cut off', (bytes: Buffer) => bytes.subarray(0, 10_000)],
  ])('finds a file %s', async (_, damage) => {
    const damaged = join(mkdtempSync(join(folder, 'damaged-')), 'x.db');
    await used(damaged);
    await changed(damaged);
    writeFileSync(damaged, damage(readFileSync(damaged)));
    const expectAsBefore = leftAsItIs(damaged);
    const report = await doctor(`sqlite:${damaged}`);
    expect(faults(report)).toEqual([['sqlite-content', 'critical']]);
    expect(report.find('sqlite-content')).toMatchObject({
      seen: expect.stringContaining(`${damaged} is damaged`),
      remedy: expect.stringContaining('histories and suspensions'),
    });
    expect(report.status).toBe(78);
    expectAsBefore();
  });

  it.each([
    ['that lacks a table', 'DROP TABLE lease'],
    ['that lacks a column', 'ALTER TABLE lease DROP COLUMN attempt'],
    ['that lacks its row', 'DELETE FROM file'],
  ])('finds a file %s', async (_, statement) => {
    const partial = join(mkdtempSync(join(folder, 'partial-')), 'x.db');
    await used(partial);
    await changed(partial, statement);
    const report = await doctor(`sqlite:${partial}`);
    expect(faults(report)).toEqual([['sqlite-content', 'critical']]);
    expect(report.find('sqlite-content').seen).toContain('grants no lease');
    expect(report.find('sqlite-content').seen).not.toContain('0.db');
    expect(report.status).toBe(78);
  });

  // Root may do anything, so a process that has ceased to be root asks.
  it.each([
    ['in a folder that it may not enter', ['sqlite-folder', 'sqlite-file'], ''],
    ['below a folder that it may not enter', ['sqlite-folder', 'sqlite-file'], 'leases'],
  ])('tells a user of a file %s', async (_, ids, below) => {
    const closed = mkdtempSync(join(tmpdir(), 'tenure-doctor-closed-'));
    const path = join(closed, below, 'a.db');
    mkdirSync(join(closed, below), { recursive: true });
    await used(path);
    chmodSync(closed, 0o000);
    const program = new NodeProgram([
      join(import.meta.dirname, 'doctor-as-nobody.mjs'),
      ...[`sqlite:${path}`, '-o', 'json'],
    ]);
    try {
      expect(await program.ended).toBe(78);
      const { findings } = JSON.parse(program.lines.join('\n')) as { findings: Finding[] };
      const told = findings.filter(({ severity }) => severity === 'critical');
      expect(told.map(({ id }) => id)).toEqual(ids);
      expect(told.at(-1)).toMatchObject({
        seen: `${path} cannot be looked at (EACCES): this user may not enter a folder above it`,
        remedy: expect.stringContaining('as the user whose folder it is'),
      });
    } finally {
      chmodSync(closed, 0o700);
      rmSync(closed, { recursive: true });
    }
  });

  it('tells a user that a file beside it is closed to them', async () => {
    const shared = mkdtempSync(join(tmpdir(), 'tenure-doctor-shared-'));
    const path = join(shared, 'a.db');
    // Of another one: who had that open takes what stands beside it along.
    const made = join(folder, 'made.db');
    await used(made);
    for (const end of ['', '-wal', '-shm']) writeFileSync(path + end, readFileSync(made));
    chmodSync(shared, 0o777);
    chmodSync(path, 0o666);
    chmodSync(`${path}-wal`, 0o666);
    chmodSync(`${path}-shm`, 0o400);
    const program = new NodeProgram([
      join(import.meta.dirname, 'doctor-as-nobody.mjs'),
      ...[`sqlite:${path}`, '-o', 'json'],
    ]);
    try {
      expect(await program.ended).toBe(78);
      const { findings } = JSON.parse(program.lines.join('\n')) as { findings: Finding[] };
      expect(findings.filter(({ severity }) => severity === 'critical')).toMatchObject([
        { id: 'sqlite-file', seen: `this user may not read and write ${path}-shm` },
      ]);
    } finally {
      rmSync(shared, { recursive: true });
    }
  });

  it('finds a process that is stopped while it holds the lock', async () => {
    const held = join(folder, 'held.db');
    await used(held);
    const program = `
      const { loadSqlite } = await import(process.argv[1]);
      const database = (await loadSqlite()).open(process.argv[2]);
      database.exec('BEGIN IMMEDIATE');
      process.stdout.write('holds');
      setInterval(() => {}, 1000);`;
    const driver = new URL('../../src/drivers/sqlite/client.ts', import.meta.url).href;
    const hooks = new URL('../support/typescript-hooks.mjs', import.meta.url).href;
    const register = `data:text/javascript,import { register } from 'node:module'; register('${hooks}');`;
    const holder = spawn(
      process.execPath,
      ['--import', register, '--input-type=module', '-e', program, driver, held],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    try {
      await once(holder.stdout, 'data');
      expect((await doctor(`sqlite:${held}`)).find('sqlite-lock').severity).toBe('note');
      holder.kill('SIGSTOP');
      // The signal is on its way until the kernel shows the process as stopped.
      while (!/^\S+ \(.*\) T/.test(readFileSync(`/proc/${holder.pid}/stat`, 'utf8')));
      const report = await doctor(`sqlite:${held}`);
      expect(report.find('sqlite-lock')).toMatchObject({
        severity: 'critical',
        seen: `process ${holder.pid} is stopped while it holds the lock`,
      });
    } finally {
      holder.kill('SIGKILL');
      await once(holder, 'close');
    }
  });
});
