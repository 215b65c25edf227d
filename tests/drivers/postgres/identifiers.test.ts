import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { quoteLiteral } from '../../../src/drivers/postgres/index.js';

let client: pg.Client;
beforeAll(async () => {
  client = new pg.Client(inject('postgresUrl'));
  await client.connect();
});
afterAll(async () => {
  await client.end();
});

describe('a text as a literal', () => {
  it.each(['on', 'off'])(
    'is read as it was, with standard_conforming_strings %s',
    async (setting) => {
      await client.query(`SET standard_conforming_strings = ${setting}; SET backslash_quote = on`);
      const texts = [
        "it's",
        "''",
        '\\',
        "\\'",
        "'; DROP TABLE x; --",
        '\\u0041 %s $1 "q"',
        '名前 🙂',
        "E'\\'",
      ];
      for (const text of texts) {
        const { rows } = await client.query<{ text: string }>(
          `SELECT ${quoteLiteral(text)} AS text`,
        );
        expect(rows).toEqual([{ text }]);
      }
    },
  );
});
