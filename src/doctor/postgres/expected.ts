import { migrationSteps } from '../../coordinators/postgres/schema/index.js';
import { createTables } from '../../schedule/postgres/schema.js';

/** What has to be in a schema, each as {@link presentQuestion} tells it: `column leases.term`. */
export interface Expected {
  readonly leases: readonly string[];
  readonly jobs: readonly string[];
}

const schema = 'x';

/** Read from what the migration of this version executes. */
export const expected: Expected = {
  leases: ['table versions', ...partsIn(migrationSteps(schema).join('\n'))],
  jobs: partsIn(createTables(schema)),
};

function partsIn(sql: string): string[] {
  const tables = [...sql.matchAll(/^CREATE TABLE x\.(\w+) \(\n(.*?)\n\)/gms)];
  const named = (pattern: RegExp) => [...sql.matchAll(pattern)].map(([, name = '']) => name);
  return [
    ...tables.flatMap(([, table = '', body = '']) => [
      `table ${table}`,
      `primary key of ${table}`,
      ...[...body.matchAll(/^ {2}([a-z]\w*) /gm)].map(([, column]) => `column ${table}.${column}`),
    ]),
    ...named(/^CREATE SEQUENCE x\.(\w+)/gm).map((name) => `sequence ${name}`),
    ...named(/^CREATE FUNCTION x\.(\w+)/gm).map((name) => `function ${name}`),
  ];
}

/** Of a table that is missing, its columns are not told as well. */
export function absentFrom(present: ReadonlySet<string>, parts: readonly string[]): string[] {
  const absent = parts.filter((part) => !present.has(part));
  const tables = absent.filter((part) => part.startsWith('table ')).map((part) => part.slice(6));
  return absent.filter(
    (part) =>
      !tables.some(
        (table) => part.startsWith(`column ${table}.`) || part === `primary key of ${table}`,
      ),
  );
}
