import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import {
  ClosedError,
  OptionError,
  StaleTermError,
  StoreRefusedError,
} from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { FencingToken } from '../../../src/fences/index.js';
import { type PostgresFence, postgresFence } from '../../../src/fences/postgres/index.js';
import { LeaseEndedError, Leases } from '../../../src/leases/index.js';
import { migratePostgres, postgresCoordinator } from '../../../src/postgres.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { until } from '../../support/until.js';
import { openPool, preparedDatabase, readData, runSql, wrapped } from './subject.js';
import { kindsOf, onlyStream, overhear } from './wire.js';

let database: FreshDatabase;
let pool: pg.Pool;
let fence: PostgresFence<pg.PoolClient>;
let name: string;
let token: FencingToken;

const insert = 'INSERT INTO public.data VALUES ($1, $2)';

beforeAll(async () => {
  database = await preparedDatabase(inject('postgresUrl'));
  await runSql(
    database.url,
    `CREATE TABLE late (secret text, CONSTRAINT late_once UNIQUE (secret) DEFERRABLE INITIALLY DEFERRED);
CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO public.data VALUES ('commits', 'before'); COMMIT; INSERT INTO public.data VALUES ('commits/2', 'after');
END $$`,
  );
});

afterAll(async () => await database.drop());

beforeEach(async () => {
  pool = openPool(database.url, { max: 1 });
  fence = postgresFence<pg.PoolClient>(pool);
  name = freshName('write');
  token = tokenOf(name, 5);
  await fence.claim(token);
});

afterEach(async () => {
  await fence.close();
  await pool.end();
});

/** What goes to the server while something is done: a text for each write of the socket. */
async function sentBy(act: () => Promise<unknown>, of = pool): Promise<string[]> {
  const { writes, end } = overhear(await onlyStream(of));
  try {
    await act();
  } finally {
    end();
  }
  return writes.map(kindsOf);
}

describe('a write under the PostgreSQL fence', () => {
  it('of an installed term is one message, in one write to the socket', async () => {
    const first = await sentBy(() => fence.write(token, insert, [`${name}/1`, 'there']));
    expect(first).toEqual(['CPCPPBDBEBEES']);
    const then = await sentBy(() => fence.write(token, insert, [`${name}/2`, 'there']));
    expect(then).toEqual(['PBDBEBEES']);
    expect(await readData(database.url, `${name}/2`)).toBe('there');
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    const client = await pool.connect();
    expect(client.listenerCount('error')).toBe(0);
    client.release();
  });

  it('goes before and behind other work on a pool of the fence’s own as well', async () => {
    const own = postgresFence(database.url, { maxConnections: 1 });
    await own.write(token, insert, [name, 'a']);
    await own.write(token, 'UPDATE public.data SET value = $1 WHERE key = $2', ['b', name]);
    await own.transaction(token, (client) => client.query('SELECT 1'));
    await own.write(token, 'UPDATE public.data SET value = value || $1', ['c']);
    await own.close();
    expect(await readData(database.url, name)).toBe('bc');
  });

  it('gives what pg gives: rows with their types, how many, and the columns', async () => {
    const made = await fence.write<{ key: string }>(
      token,
      "INSERT INTO public.data SELECT $1 || n, 'x' FROM generate_series(1, 2) AS n RETURNING key",
      [name],
    );
    expect(made).toMatchObject({ command: 'INSERT', rowCount: 2, fields: [{ name: 'key' }] });
    expect(made.rows).toEqual([{ key: `${name}1` }, { key: `${name}2` }]);
    const seen = await fence.write(token, 'SELECT 1 AS one, now() AS now, NULL AS nothing');
    expect(seen.rows).toEqual([{ one: 1, now: expect.any(Date), nothing: null }]);
    const gone = await fence.write(token, 'DELETE FROM public.data WHERE key = $1', ['none']);
    expect(gone).toMatchObject({ command: 'DELETE', rowCount: 0, rows: [] });
    const silent = await fence.write(token, 'SELECT FROM public.data WHERE key = $1', [`${name}1`]);
    expect(silent).toMatchObject({ rowCount: 1, rows: [{}] });
  });

  it('takes values as pg does', async () => {
    const given = [
      ...[new Date(86_400_000), Buffer.from([0, 255]), [1, null, 3], { a: [1] }, null, undefined],
      ...[1.5, 10n, true, 'Zoë \u{1f600} \\ \' "', '', { toPostgres: () => 'itself' }],
    ];
    const types = 'timestamptz bytea int[] jsonb int int float8 int8 bool text text text'.split(
      ' ',
    );
    const text = `SELECT ${types.map((type, index) => `$${index + 1}::${type}`).join()}`;
    const rows = (await fence.write(token, { text, values: given })).rows;
    expect(rows).toEqual((await pool.query(text, given)).rows);
    expect((await fence.write(token, text, given)).rows).toEqual(rows);
  });

  it('reads with the parsers of the client’s types', async () => {
    const types = { getTypeParser: () => (text: string) => `<${text}>` };
    const typed = openPool(database.url, { max: 1, types } as pg.PoolConfig);
    const onTyped = postgresFence<pg.PoolClient>(typed);
    await onTyped.claim(token);
    const sent = await sentBy(async () => {
      const { rows } = await onTyped.write(token, 'SELECT 1 AS one');
      expect(rows).toEqual([{ one: '<1>' }]);
    }, typed);
    expect(sent).toHaveLength(1);
    await typed.end();
  });

  it('keeps a named statement prepared in its session, by the account that pg keeps', async () => {
    const statement = { name: 'put', text: insert };
    const values = (key: string) => [`${name}/${key}`, key];
    await fence.write(token, insert, values('unnamed'));
    await fence.write(token, statement, values('a'));
    const sent = await sentBy(async () => {
      await fence.write(token, { ...statement, values: values('b') });
    });
    expect(sent).toEqual(['BDBEBEES']);
    await pool.query({ ...statement, values: values('c') });
    const text = "SELECT count(*)::int AS count FROM pg_prepared_statements WHERE name = 'put'";
    expect((await pool.query(text)).rows).toEqual([{ count: 1 }]);
    expect(await readData(database.url, `${name}/b`)).toBe('b');
    const other = fence.write(token, { name: 'put', text: 'SELECT 1' });
    await expect(other).rejects.toThrow(/must be unique/);
    await pool.query('DEALLOCATE put');
    await expect(fence.write(token, statement, values('d'))).rejects.toMatchObject({
      code: '26000',
    });
  });

  it('prepares anew what its session has lost', async () => {
    await fence.write(token, insert, [`${name}/1`, 'there']);
    await pool.query('DEALLOCATE ALL');
    await fence.write(token, insert, [`${name}/2`, 'there']);
    const sent = await sentBy(() => fence.write(token, insert, [`${name}/3`, 'there']));
    expect(sent).toEqual(['CPCPPBDBEBEES']);
    expect(await readData(database.url, `${name}/2`)).toBe('there');
  });

  it('fails as pg does, with nothing written, and its connection goes on', async () => {
    await fence.write(token, insert, [name, 'there']);
    const twice = await fence.write(token, insert, [name, 'again']).catch((error) => error);
    expect(twice).toBeInstanceOf(pg.DatabaseError);
    expect(twice).toMatchObject({ code: '23505', constraint: 'data_pkey' });
    const attempts = {
      '22012': "INSERT INTO public.data SELECT 'zero', (1 / $1::int)::text",
      '22P02': "INSERT INTO public.data VALUES ('zero', ($1::text::int)::text)",
      '42601': 'INSERT INTO public.data VALUE $1',
      '42P01': 'INSERT INTO public.nowhere VALUES ($1)',
    };
    for (const [code, text] of Object.entries(attempts)) {
      const value = code === '22P02' ? 'tenure: this term is not installed' : 0;
      const error = await fence.write(token, text, [value]).catch((thrown) => thrown);
      expect(error, code).toBeInstanceOf(pg.DatabaseError);
      expect(error).toMatchObject({ code });
    }
    expect(await readData(database.url, 'zero')).toBeUndefined();
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    await fence.write(token, insert, [`${name}/2`, 'there']);
  });

  it('whose values pg cannot send fails as there, and sends nothing', async () => {
    const circle: Record<string, unknown> = {};
    circle.itself = circle;
    const sent = await sentBy(async () => {
      const error = await fence.write(token, insert, [name, circle]).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
    });
    expect(sent).toEqual([]);
    await fence.write(token, insert, [name, 'there']);
    expect(pool.totalCount).toBe(1);
  });

  it('whose commit is refused by a deferred constraint says so, without the row', async () => {
    const text = "INSERT INTO late VALUES ('hunter2')";
    await fence.write(token, text);
    let error: unknown;
    const sent = await sentBy(async () => {
      error = await fence.write(token, text).catch((thrown: unknown) => thrown);
    });
    expect(sent).toHaveLength(1);
    expect(error).toBeInstanceOf(StoreRefusedError);
    expect(error).toMatchObject({ storeCode: '23505' });
    expect(String(error)).toContain('late_once');
    expect(`${(error as Error).stack}${JSON.stringify((error as Error).cause)}`).not.toContain(
      'hunter2',
    );
    await fence.write(token, insert, [name, 'there']);
  });

  it('of a term that nobody installed installs it', async () => {
    const next = tokenOf(name, 6);
    await fence.write(next, insert, [name, 'first']);
    expect(await fence.installedTerm(name)).toBe(6);
    expect(await sentBy(() => fence.write(next, 'SELECT 1'))).toEqual(['CPCPPBDBEBEES']);
    await expect(fence.write(token, 'SELECT 1')).rejects.toBeInstanceOf(StaleTermError);
  });

  it('is refused with nothing executed when a higher term, or its number of another holder, is there', async () => {
    await runSql(database.url, 'CREATE SEQUENCE IF NOT EXISTS calls');
    const write = () => fence.write(token, "SELECT nextval('calls')");
    await write();
    const successor = postgresFence(database.url);
    await successor.claim(tokenOf(name, 6));
    const stale = await write().catch((error: unknown) => error);
    expect(stale).toBeInstanceOf(StaleTermError);
    expect(stale).toMatchObject({ name: 'StaleTermError', term: 5, installedTerm: 6 });
    await expect(write()).rejects.toBeInstanceOf(StaleTermError);
    const namesake = tokenOf(name, 6, 'another');
    await expect(fence.write(namesake, 'SELECT 1')).rejects.toBeInstanceOf(StaleTermError);
    const { rows } = await runSql(database.url, 'SELECT last_value::int AS calls FROM calls');
    expect(rows).toEqual([{ calls: 1 }]);
    await successor.close();
  });

  it('is refused where the database makes a number of any text', async () => {
    await runSql(
      database.url,
      `CREATE FUNCTION public.lenient(text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 0';
CREATE CAST (text AS int) WITH FUNCTION public.lenient(text) AS ASSIGNMENT`,
    );
    const successor = postgresFence(database.url);
    try {
      await fence.write(token, insert, [`${name}/1`, 'there']);
      await successor.claim(tokenOf(name, 6));
      const late = fence.write(token, insert, [`${name}/2`, 'late']);
      await expect(late).rejects.toBeInstanceOf(StaleTermError);
      expect(await readData(database.url, `${name}/2`)).toBeUndefined();
    } finally {
      await successor.close();
      await runSql(database.url, 'DROP CAST (text AS int); DROP FUNCTION public.lenient(text)');
    }
  });

  it('with too few values fails as pg does, and its connection goes on', async () => {
    for (const values of [[name], undefined]) {
      const error = await fence.write(token, insert, values).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(pg.DatabaseError);
      expect(error).toMatchObject({ code: '08P01' });
    }
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    await fence.write(token, insert, [name, 'there']);
  });

  it.each(['XX000', '08001', '58030', '57P01', 'F0000'])(
    'that raises %s itself fails as pg does, and its connection goes on',
    async (code) => {
      await runSql(
        database.url,
        `CREATE OR REPLACE FUNCTION public.raises() RETURNS text LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = '${code}'; END $$`,
      );
      const text = 'INSERT INTO public.data SELECT $1, public.raises()';
      const error = await fence.write(token, text, [name]).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(pg.DatabaseError);
      expect(error).toMatchObject({ code, message: 'raised' });
      expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    },
  );

  it('that is cancelled before its turn is not executed after all', async () => {
    const other = new pg.Client(database.url);
    await other.connect();
    other.on('error', () => {});
    await other.query("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'");
    await other.query('LOCK TABLE public.data');
    const error = fence.write(token, insert, [name, 'cancelled']).catch((thrown) => thrown);
    const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    const { pid } = await until('the write waits', async () => {
      return (await runSql(database.url, waiting)).rows[0] as { pid: number } | undefined;
    });
    await runSql(database.url, `SELECT pg_cancel_backend(${pid})`);
    expect(await error).toMatchObject({ code: '57014' });
    await other.end();
    expect(await readData(database.url, name)).toBeUndefined();
    await fence.write(token, insert, [name, 'there']);
  });

  it('of a name that its session has lost costs the others nothing', async () => {
    const statement = { name: 'lost', text: insert, values: [name, 'there'] };
    await fence.write(token, 'SELECT 1');
    await fence.write(token, statement);
    await pool.query('DEALLOCATE lost');
    for (let count = 0; count < 4; count++)
      await expect(fence.write(token, statement)).rejects.toMatchObject({ code: '26000' });
    const sent = await sentBy(() => fence.write(token, insert, [`${name}/2`, 'there']));
    expect(sent).toEqual(['PBDBEBEES']);
  });

  it('commits durably whatever the session says, and leaves its setting', async () => {
    const cases = { off: 'on', local: 'on', on: 'on', remote_apply: 'remote_apply' };
    for (const [session, expected] of Object.entries(cases)) {
      const lax = openPool(database.url, {
        max: 1,
        options: `-c synchronous_commit=${session}`,
      });
      const onLax = postgresFence<pg.PoolClient>(lax);
      await onLax.claim(token);
      const text = "SELECT current_setting('synchronous_commit') AS setting";
      const sent = await sentBy(async () => {
        expect((await onLax.write(token, text)).rows, session).toEqual([{ setting: expected }]);
      }, lax);
      expect(sent).toHaveLength(1);
      expect((await lax.query(text)).rows).toEqual([{ setting: session }]);
      await lax.end();
    }
  });

  it.each(['serializable', 'repeatable read', 'read uncommitted'])(
    'runs at READ COMMITTED whatever the default is: %s',
    async (isolation) => {
      const strict = openPool(database.url, {
        max: 1,
        options: `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`,
      });
      const onStrict = postgresFence<pg.PoolClient>(strict);
      await onStrict.claim(token);
      const text = "SELECT current_setting('transaction_isolation') AS isolation";
      const write = async () =>
        expect((await onStrict.write(token, text)).rows).toEqual([{ isolation: 'read committed' }]);
      await write();
      // The fence knows by now that one message cannot name the isolation.
      expect((await sentBy(write, strict)).filter((kinds) => kinds.endsWith('BEBEES'))).toEqual([]);
      await strict.end();
    },
  );

  it('looks at the lease as well, where that is in the same database', async () => {
    await migratePostgres(database.url);
    const leases = new Leases(postgresCoordinator(database.url));
    const lease = await leases.acquire(name);
    if (lease === undefined) throw new Error('nobody else wants it');
    const beside = postgresFence<pg.PoolClient>(pool, { leases: {} });
    const held = { name, term: lease.term, holder: lease.holder };
    for (const key of ['a', 'b']) await beside.write(held, insert, [`${name}/${key}`, 'there']);
    await lease.release();
    const late = beside.write(held, insert, [name, 'late']);
    await expect(late).rejects.toMatchObject({ reason: 'vanished' });
    await expect(late).rejects.toBeInstanceOf(LeaseEndedError);
    expect(await readData(database.url, `${name}/b`)).toBe('there');
    expect(await readData(database.url, name)).toBeUndefined();
    await leases.close();
  });

  it('on a client that is wrapped is the work of a transaction', async () => {
    const onWrapped = postgresFence<pg.PoolClient>(wrapped(pool));
    let clientCount = 0;
    pool.on('acquire', () => {
      clientCount += 1;
    });
    for (const key of ['a', 'b', 'c'])
      await onWrapped.write(token, insert, [`${name}/${key}`, 'there']);
    // The second one, the first that may be one message, finds out that none can be here.
    expect(clientCount).toBe(4);
    expect(await readData(database.url, `${name}/c`)).toBe('there');
    const several = onWrapped.write(token, "DELETE FROM public.data; SELECT 'b'");
    await expect(several).rejects.toBeInstanceOf(OptionError);
    expect(await readData(database.url, `${name}/c`)).toBe('there');
    await fence.claim(tokenOf(name, 6));
    const late = onWrapped.write(token, insert, [`${name}/d`, 'late']);
    await expect(late).rejects.toBeInstanceOf(StaleTermError);
  });

  it('is not executed by whatever sends a copy of a query in its place', async () => {
    class Copying extends pg.Client {
      override query(query: unknown, ...rest: unknown[]): Promise<pg.QueryResult> {
        const isQuery = typeof Object(query).submit === 'function';
        const copy = isQuery ? { ...Object(query) } : query;
        return super.query(copy as string, rest[0] as unknown[]);
      }
    }
    const copying = new pg.Pool({ connectionString: database.url, Client: Copying, max: 1 });
    const onCopying = postgresFence<pg.PoolClient>(copying);
    await onCopying.claim(token);
    const attempt = onCopying.write(token, insert, [name, 'unguarded']);
    await expect(attempt).rejects.toThrow(/nothing was written/);
    expect(await readData(database.url, name)).toBeUndefined();
    await copying.end();
  });

  it('on a client that was released inside a transaction is refused, and that one is rolled back', async () => {
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query(insert, [`${name}/left`, 'open']);
    client.release();
    const attempt = fence.write(token, insert, [name, 'unguarded']);
    await expect(attempt).rejects.toMatchObject({ storeCode: 'TN013' });
    expect(pool.totalCount).toBe(0);
    for (const key of [name, `${name}/left`])
      expect(await readData(database.url, key)).toBeUndefined();
    await fence.write(token, insert, [name, 'guarded']);
  });

  it('after the fence was closed is refused', async () => {
    await fence.close();
    await expect(fence.write(token, 'SELECT 1')).rejects.toBeInstanceOf(ClosedError);
  });
});

describe('a text that is not one statement for a write', () => {
  it.each(['COMMIT', ' begin', '\nROLLBACK AND CHAIN', "PREPARE TRANSACTION 'x'", 'End;'])(
    'is refused before anything is sent: %s',
    async (text) => {
      const sent = await sentBy(async () => {
        await expect(fence.write(token, text)).rejects.toThrow(/begins or ends a transaction/);
      });
      expect(sent).toEqual([]);
    },
  );

  it('is refused before anything is sent if it copies', async () => {
    const sent = await sentBy(async () => {
      const copy = fence.write(token, 'copy public.data FROM STDIN');
      await expect(copy).rejects.toThrow(/copies: copy on .* fence\.transaction/);
    });
    expect(sent).toEqual([]);
  });

  it('is refused by the server if it is several', async () => {
    for (const text of ["DELETE FROM public.data; SELECT 'b'", "/* a */ SELECT 'a'; COMMIT"])
      await expect(fence.write(token, text)).rejects.toMatchObject({ code: '42601' });
  });

  it.each(['CALL commits()', 'DO $$ BEGIN CALL commits(); END $$'])(
    'cannot commit in the middle: %s',
    async (text) => {
      await expect(fence.write(token, text)).rejects.toMatchObject({ code: '2D000' });
      expect(await readData(database.url, 'commits')).toBeUndefined();
    },
  );

  it('may be one that no message of its own has room for, such as the definition of a table', async () => {
    await fence.write(token, 'CREATE TABLE public.made_by_write ()');
    await fence.write(token, '-- why\nDROP TABLE public.made_by_write');
  });

  it('that hides its COMMIT from the fence is told of as a transaction that its work has ended', async () => {
    await expect(fence.write(token, '/* hidden */ COMMIT')).rejects.toMatchObject({
      code: 'TENURE_OUTCOME_UNKNOWN',
    });
    await fence.write(token, insert, [name, 'there']);
  });

  it.each([
    [undefined, undefined],
    [null, undefined],
    [{ text: 5 }, undefined],
    [{ text: 'SELECT 1', name: '' }, undefined],
    [{ text: 'SELECT 1', rowmode: 'array' }, undefined],
    ['SELECT $1', 'x'],
  ])('is refused if it is nothing that pg takes: %j, %j', async (statement, values) => {
    const write = fence.write(
      token,
      statement as unknown as string,
      values as unknown as unknown[],
    );
    await expect(write).rejects.toBeInstanceOf(OptionError);
  });
});
