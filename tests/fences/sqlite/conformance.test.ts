import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerFenceConformance } from '../../../src/fences/conformance/index.js';
import { type PreparedFile, preparedFile, sqliteSubject } from './subject.js';

let file: PreparedFile;

beforeAll(async () => {
  file = await preparedFile();
});

afterAll(() => file.remove());

registerFenceConformance('the SQLite fence', async () => sqliteSubject(file.path), {
  describe,
  it: (title, run) => it(title, run, 30_000),
});
