import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sqliteCoordinator } from '../../src/sqlite.js';
import { openDatabase } from '../support/sqlite-database.js';
import { type Columns, changesOf, longText, texts, wholes } from './columns.js';
import { fewOrAll } from './rounds.js';
import { abuse, standings } from './scene.js';

const folder = mkdtempSync(join(tmpdir(), 'tenure-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const infinite = ['9e999', '1e308'];

const columns: Columns = {
  lease: {
    kind: texts,
    term: [...wholes, 'NULL'],
    deadline_ms: [...infinite, 'NULL'],
    holder: [...texts, longText, 'NULL'],
    attempt: [...texts, 'NULL'],
    ttl_ms: [...infinite, '-1', 'NULL'],
    grace_ms: [...infinite, 'NULL'],
    granted_at_ms: [...infinite, '-1', 'NULL'],
    renewed_at_ms: [...infinite, 'NULL'],
    metadata: [...texts, longText, 'NULL'],
    revoked_at_ms: [...infinite, '5'],
    revoked_by: texts,
    reserve_ms: [...infinite, '-9e999'],
  },
  suspension: { by: [...texts, longText], reason: texts, at_ms: [...infinite, '-9e999'] },
  candidate: {
    holder: texts,
    standing: texts,
    preference: wholes,
    since: wholes,
    since_ms: infinite,
    deadline_ms: infinite,
    refresh: wholes,
    metadata: texts,
  },
  history: {
    kind: texts,
    at_ms: infinite,
    term: [...wholes, 'NULL'],
    holder_id: [...texts, 'NULL'],
  },
  document: { version: wholes, text: [...texts, longText] },
};

describe('what stands in a SQLite file under a name and was meddled with', () => {
  it.each(standings)('is told by type, and the name is granted to nobody: %s', async (standing) => {
    const path = join(folder, `${standing}.db`);
    const coordinator = sqliteCoordinator(path);
    await coordinator.read(['warm'], { timeoutMs: 30_000 });
    const stranger = openDatabase(path);
    const changes = fewOrAll(changesOf(columns), 28, standings.indexOf(standing));
    const places = async (name: string) =>
      changes.map(({ table, column, value }) => ({
        what: `${table}.${column} = ${value.slice(0, 60)}`,
        spoil: async () =>
          stranger.prepare(`UPDATE ${table} SET ${column} = ${value} WHERE name = ?`).run(name),
      }));
    const { wrong, count } = await abuse(coordinator, standing, places);
    stranger.close();
    await coordinator.close();
    expect(wrong).toEqual([]);
    expect(count).toBe(changes.length);
  });
});
