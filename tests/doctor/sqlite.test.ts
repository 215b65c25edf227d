import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { leaseSchema } from '../../src/coordinators/sqlite/schema.js';
import { loadSqlite } from '../../src/drivers/sqlite/index.js';
import { sqliteCoordinator } from '../../src/sqlite.js';
import { realRuntime } from '../../src/time/index.js';
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

  it('makes no file where there is none', async () => {
    const report = await doctor(`sqlite:${path}`);
    expect(faults(report)).toEqual([['sqlite-file', 'note']]);
    expect(report.status).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('finds nothing on a good one, and leaves it as it is', async () => {
    await used(path);
    const before = [readdirSync(folder), readFileSync(path)];
    const report = await doctor(`sqlite:${path}`);
    expect(faults(report)).toEqual([]);
    expect(report.find('sqlite-journal').seen).toBe('WAL, and tenure writes with synchronous FULL');
    expect(report.find('sqlite-file-system').seen).toBeTruthy();
    expect([readdirSync(folder), readFileSync(path)]).toEqual(before);
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
    const other = join(folder, 'other.db');
    const database = (await loadSqlite()).open(other);
    database.exec(`PRAGMA application_id = ${leaseSchema.applicationId}; CREATE TABLE t (x)`);
    database.close();
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
