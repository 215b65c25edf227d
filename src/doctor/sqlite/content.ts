import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Holder } from '../../coordinators/index.js';
import { sqliteCoordinator } from '../../coordinators/sqlite/index.js';
import { leaseSchema } from '../../coordinators/sqlite/schema.js';
import { loadSqlite, type SqliteLibrary } from '../../drivers/sqlite/client.js';
import { requireLocalFileSystem } from '../../drivers/sqlite/file-systems.js';
import { type Looked, seen, unseen } from '../check.js';
import type { Purpose } from '../finding.js';
import type { ContentFacts } from './facts.js';

/** What else belongs to a database: what is written and not in the file yet. The index of the first is made anew. */
const beside = ['', '-wal', '-journal'];
/** A copy takes as much room again. */
const largestCopyBytes = 512 * 1024 * 1024;
const tries = 100;

/**
 * What is in a database, by a copy of it that is opened in its place, read from end to end, and asked for a lease. A copy
 * that was taken while somebody wrote is taken again.
 */
export async function lookInside(path: string, purpose: Purpose): Promise<Looked<ContentFacts>> {
  const library = await libraryIfAny();
  if (library === undefined) return unseen('nothing here reads it', 'see sqlite-library');
  if (sizeOf(path) > largestCopyBytes)
    return unseen('it is too large to be copied', "`sqlite3 FILE 'PRAGMA integrity_check'`");
  if (!isLocal(tmpdir()))
    return unseen(`${tmpdir()} is no local disk, and no copy can be opened there`, 'set TMPDIR');
  const folder = mkdtempSync(join(tmpdir(), 'tenure-doctor-'));
  try {
    return await lookAtCopies(library, path, folder, purpose);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return unseen(
      `it cannot be copied to ${tmpdir()} (${code})`,
      'set TMPDIR to where there is room',
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function lookAtCopies(
  library: SqliteLibrary,
  path: string,
  folder: string,
  purpose: Purpose,
): Promise<Looked<ContentFacts>> {
  let bad: ContentFacts | undefined;
  for (let number = 0; number < tries; number++) {
    // A copy takes the process for itself.
    await nextTurn();
    purpose.signal.throwIfAborted();
    // A name of its own: what is opened may be remembered by its name.
    const copy = join(folder, String(number), 'copy.db');
    mkdirSync(dirname(copy));
    const content = copyQuietly(path, copy)
      ? await contentOf(library, path, copy, purpose)
      : undefined;
    rmSync(dirname(copy), { recursive: true, force: true });
    if (content === undefined) continue;
    const isBad = content.damage !== undefined || content.refusal !== undefined;
    // The kernel's stamps are as coarse as its ticks: what is wrong with one copy has to be with another one too.
    if (!isBad || bad !== undefined) return seen(content);
    bad = content;
  }
  return unseen('it was written to while it was copied', 'look again');
}

function isLocal(folder: string): boolean {
  try {
    requireLocalFileSystem(folder);
    return true;
  } catch {
    return false;
  }
}

async function libraryIfAny(): Promise<SqliteLibrary | undefined> {
  return await loadSqlite().catch(() => undefined);
}

function sizeOf(path: string): number {
  const sizes = beside.map((end) => statSync(path + end, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Whether nobody wrote meanwhile. */
function copyQuietly(path: string, copy: string): boolean {
  const before = stampOf(path);
  for (const end of beside) copyIfAny(path + end, copy + end);
  return stampOf(path) === before;
}

/** What stands beside a database goes with whoever closes it last. */
function copyIfAny(from: string, to: string): void {
  try {
    copyFileSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function stampOf(path: string): string {
  return beside
    .map((end) => statSync(path + end, { bigint: true, throwIfNoEntry: false }))
    .map((stats) => (stats === undefined ? '-' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`))
    .join(', ');
}

async function contentOf(
  library: SqliteLibrary,
  path: string,
  copy: string,
  purpose: Purpose,
): Promise<ContentFacts> {
  let kind: ContentFacts['kind'] | undefined;
  try {
    const database = library.open(copy);
    try {
      const [id] = valuesOf(database.prepare('PRAGMA application_id').get());
      const count = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get();
      kind = kindOf(id, valuesOf(count)[0]);
      const [line] = valuesOf(database.prepare('PRAGMA integrity_check(1)').get());
      if (line !== 'ok') return { kind, damage: String(line).replace(/\s+/g, ' ') };
    } finally {
      database.close();
    }
  } catch (error) {
    return { kind: kind ?? 'unreadable', damage: textOf(error, copy, path) };
  }
  if (kind === 'foreign') return { kind };
  const refusal = await refusalOf(copy, path, purpose);
  return { kind, ...(refusal !== undefined && { refusal }) };
}

function kindOf(applicationId: unknown, count: unknown): ContentFacts['kind'] {
  if (applicationId === leaseSchema.applicationId) return 'own';
  return applicationId === 0 && count === 0 ? 'empty' : 'foreign';
}

function valuesOf(row: unknown): unknown[] {
  return Object.values((row ?? {}) as object);
}

/** Why a lease of a name that nobody else uses is not granted by the copy; `undefined`: it is. */
async function refusalOf(
  copy: string,
  path: string,
  { runtime, namespace, timeoutMs }: Purpose,
): Promise<string | undefined> {
  const coordinator = sqliteCoordinator(copy, { namespace, runtime });
  const name = `tenure-doctor-${runtime.randomHex(8)}`;
  const holder = Holder.create('doctor', runtime);
  const request = { name, holder, attempt: runtime.randomHex(16), ttlMs: 30_000 };
  try {
    const [result] = await coordinator.acquire([request], { timeoutMs });
    return result?.outcome === 'granted' ? undefined : `a lease was asked for: ${result?.outcome}`;
  } catch (error) {
    return textOf(error, copy, path);
  } finally {
    await coordinator.close().catch(() => undefined);
  }
}

function textOf(error: unknown, copy: string, path: string): string {
  return (error as Error).message.replaceAll(copy, path).replace(/\.$/, '');
}
