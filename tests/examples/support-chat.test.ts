import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { ensureBuilt } from '../../scripts/bootstrap.mjs';
import { NodeProgram } from '../support/node-program.js';
import { type FreshDatabase, freshPostgresDatabase, startRedis } from '../support/servers/index.js';

const root = join(import.meta.dirname, '../..');
const folder = 'examples/support-chat';

let database: FreshDatabase;
let programs: NodeProgram[];

// The example imports the package by its name, so what runs is what was built.
beforeAll(() => ensureBuilt());

beforeEach(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  programs = [];
});

afterEach(async () => {
  await Promise.all(programs.map((program) => program.kill()));
  await database.drop();
});

function start(file: string, parameters: string[], redisUrl: string): NodeProgram {
  const environment = { REDIS_URL: redisUrl, DATABASE_URL: database.url, TTL_MS: '2000' };
  const command = [join(root, folder, file), ...parameters] as const;
  const program = new NodeProgram(command, environment, ['SIGTERM', 'SIGKILL']);
  programs.push(program);
  return program;
}

describe('the support chat', () => {
  it('answers every message once and in order while its processes are killed and frozen', async () => {
    const run = start('run.mjs', [], inject('redisUrl'));
    expect(await run.ended, run.output).toBe(0);
    expect(run.lines.at(-1)).toBe('every message was answered once and in order');
    expect(run.output).toMatch(/^changes of a shard's owner: [1-9]/m);
  }, 120_000);

  it('publishes again what Redis has forgotten, and answers nothing twice', async () => {
    const redis = await startRedis();
    try {
      const gateway = start('gateway.mjs', ['0'], redis.url);
      const worker = start('worker.mjs', ['anna'], redis.url);
      const [, url] = await gateway.says(/^gateway on (\S+),/);
      const send = (text: string) => post(`${url}/messages`, { customer: 'acme', text });
      for (const text of ['one', 'two', 'three']) expect(await send(text)).toBe(202);
      await worker.says(/answered acme #3/);

      await redis.restart({ keepData: false });
      expect(await send('four')).toBe(202);
      await worker.says(/answered acme #4/);

      const conversation = await fetch(`${url}/conversations/acme`);
      expect(await conversation.json()).toMatchObject([
        { seq: 1, text: 'one', worker: 'anna' },
        { seq: 2, text: 'two', worker: 'anna' },
        { seq: 3, text: 'three', worker: 'anna' },
        { seq: 4, text: 'four', worker: 'anna' },
      ]);
      expect(await mails()).toEqual([
        { idempotency_key: 'answers/acme/1', request_count: 2 },
        { idempotency_key: 'answers/acme/2', request_count: 2 },
        { idempotency_key: 'answers/acme/3', request_count: 2 },
        { idempotency_key: 'answers/acme/4', request_count: 1 },
      ]);
    } finally {
      await redis.stop();
    }
  }, 60_000);

  it('refuses what the stream could not take, before it is stored', async () => {
    const gateway = start('gateway.mjs', ['0'], inject('redisUrl'));
    const [, url] = await gateway.says(/^gateway on (\S+),/);
    const bodies = ['no json', {}, { customer: 'a b', text: 'x' }, { customer: 'acme', text: '' }];
    for (const body of bodies) expect(await post(`${url}/messages`, body)).toBe(400);
    expect(await post(`${url}/elsewhere`, {})).toBe(404);
  });

  it('stops in good order', async () => {
    const gateway = start('gateway.mjs', ['0'], inject('redisUrl'));
    const worker = start('worker.mjs', ['anna'], inject('redisUrl'));
    await Promise.all([gateway.says(/empties the outbox/), worker.says(/is ready/)]);
    expect(await Promise.all([gateway.stop(), worker.stop()])).toEqual([0, 0]);
    expect(worker.lines.at(-1)).toBe('anna has stopped');
  }, 60_000);
});

describe('its page', () => {
  it('names programs that are there', () => {
    const page = readFileSync(join(root, folder, 'README.md'), 'utf8');
    const named = [...page.matchAll(/examples\/support-chat\/(\w+\.mjs)|`(\w+\.mjs)`/g)];
    expect(named.length).toBeGreaterThan(8);
    for (const [, run, listed] of named) {
      expect(existsSync(join(root, folder, run ?? listed ?? '')), run ?? listed).toBe(true);
    }
  });
});

async function post(url: string, body: unknown): Promise<number> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (await fetch(url, { method: 'POST', body: text })).status;
}

async function mails(): Promise<object[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const columns = 'idempotency_key, request_count';
    const query = `SELECT ${columns} FROM support_chat.mails ORDER BY position`;
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}
