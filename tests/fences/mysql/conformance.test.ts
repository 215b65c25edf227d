import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerFenceConformance } from '../../../src/fences/conformance/index.js';
import { type MariaDbServer, startMariaDb } from '../../support/servers/index.js';
import { createAccount, mysqlSubject, prepare } from './subject.js';

let server: MariaDbServer;
let writerUrl: string;

beforeAll(async () => {
  // What a crash of the machine leaves is not at issue here.
  server = await startMariaDb({ settings: { innodb_flush_method: 'nosync' } });
  await prepare(server.url);
  // Exactly what docs/fencing/mysql.md says an account needs, and the table of the tests themselves.
  writerUrl = await createAccount(server.url, [
    'SELECT, INSERT, UPDATE ON tenure.fences',
    'SELECT, INSERT ON tenure.effects',
    'SELECT, INSERT, UPDATE ON app.data',
  ]);
}, 60_000);

afterAll(async () => await server.stop());

registerFenceConformance(
  'the MySQL fence on MariaDB, with no more privileges than it needs',
  async () => mysqlSubject(writerUrl),
  { describe: describe.concurrent, it: (title, run) => it(title, run, 60_000) },
);
