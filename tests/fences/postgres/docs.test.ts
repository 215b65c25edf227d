import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { migrationSql, postgresFence } from '../../../src/fences/postgres/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../../support/servers/index.js';
import { prepare, runSql } from './subject.js';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/fencing/postgres.md'), 'utf8');

function blocks(language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  return [...page.matchAll(pattern)].map(([, code]) => code ?? '');
}

let database: FreshDatabase;

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
});

afterAll(async () => await database.drop());

describe('docs/fencing/postgres.md', () => {
  // A child that compiles all of the sources takes its time on a busy machine.
  it('holds a program that prints what the page says', { timeout: 120_000 }, async () => {
    const program = blocks('js')
      .join('\n')
      .replace(/'(tenure(?:\/\w+)?)'/g, (_, name) => `'${source(name)}'`);
    const hooks = pathToFileURL(join(root, 'tests/support/typescript-hooks.mjs'));
    const register = `import { register } from 'node:module'; register('${hooks}');`;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [
        ...['--import', `data:text/javascript,${encodeURIComponent(register)}`],
        ...['--input-type=module', '--eval', program],
      ],
      { cwd: root, env: { ...process.env, DATABASE_URL: database.url } },
    );
    expect(stderr).toBe('');
    expect(stdout).toBe(blocks('text')[0]);
  });

  it('shows the SQL that is run, and privileges that can be granted', async () => {
    const [tables, grants = ''] = blocks('sql');
    expect(tables).toBe(migrationSql());
    await prepare(database.url);
    await runSql(database.url, `BEGIN; CREATE ROLE writer; ${grants} ROLLBACK`);
  });

  it('shows how a term is changed by hand, and nobody is writing then', async () => {
    const [, , byHand = ''] = blocks('sql');
    await prepare(database.url);
    const name = 'ledger/acme';
    const fence = postgresFence(database.url);
    const token = tokenOf(name, ((await fence.installedTerm(name)) ?? 4) + 1);
    const gate = new Gate();
    const open = fence.transaction(token, () => gate.pass());
    await gate.reached;
    const order: string[] = [];
    const change = runSql(database.url, byHand).then(() => order.push('changed'));
    const waiting =
      "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'advisory' AND datname = current_database()";
    const isWaiting = async () => (await runSql(database.url, waiting)).rowCount;
    await Promise.race([change, expect.poll(isWaiting).toBe(1)]);
    order.push('written');
    gate.open();
    await Promise.all([open, change]);
    expect(order).toEqual(['written', 'changed']);
    await expect(fence.claim(token)).rejects.toMatchObject({ installedTerm: token.term + 1 });
    await fence.close();
  });

  it('shows a statement for other languages that writes for the latest term alone', async () => {
    const [, , , table = '', statement = ''] = blocks('sql');
    await runSql(database.url, `${table} CREATE TABLE payouts (what text)`);
    const attempts = [
      [5, 'ann', 'first'],
      [5, 'ann', 'second'],
      [5, 'bob', 'of the same term, by another'],
      [4, 'cleo', 'of an earlier term'],
      [6, 'bob', 'third'],
      [5, 'ann', 'too late'],
    ] as const;
    for (const [term, holder, what] of attempts) {
      const filled = statement
        .replaceAll(":'name'", "'payments'")
        .replaceAll(':term', String(term))
        .replaceAll(":'holder'", `'${holder}'`)
        .replaceAll(":'what'", `'${what}'`);
      await runSql(database.url, filled);
    }
    const written = "string_agg(what, ',') = 'first,second,third'";
    await runSql(database.url, `DO $$ BEGIN ASSERT (SELECT ${written} FROM payouts); END $$`);
  });
});

/** The module of this project that a package path stands for. */
function source(specifier: string): string {
  const entry = specifier === 'tenure' ? 'index' : specifier.slice('tenure/'.length);
  return pathToFileURL(join(root, 'src', `${entry}.ts`)).href;
}
