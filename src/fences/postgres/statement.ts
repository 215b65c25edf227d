import type { PostgresClient, PostgresResult, Statement } from '../../drivers/postgres/index.js';
import { requireArray, requireKnown, requireObject } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';

/** One statement, as `client.query` of `pg` takes it. */
export interface PostgresStatement {
  readonly text: string;
  /** Its parameters. Default: none. */
  readonly values?: readonly unknown[];
  /** Prepared under this name once in each session, and planned less often from then on. Default: not prepared. */
  readonly name?: string;
}

/** @throws {OptionError} if it is no statement, one that says where a transaction begins or ends, or one that copies. */
export function validateStatement(
  statement: string | PostgresStatement,
  values: readonly unknown[] | undefined,
): Statement {
  const given = typeof statement === 'string' ? { text: statement } : requireStatement(statement);
  const { text, name } = given;
  if (typeof text !== 'string')
    throw new OptionError('text', 'hidden', 'is not a text', 'pass one statement of SQL');
  if (transactional.test(text)) {
    const remedy = 'leave it to the fence, which begins and commits';
    throw new OptionError('text', 'hidden', 'begins or ends a transaction', remedy);
  }
  if (/^\s*COPY\b/i.test(text)) {
    const remedy = 'copy on the client of fence.transaction';
    throw new OptionError('text', 'hidden', 'copies', remedy);
  }
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw new OptionError('name', name, 'is not a name', 'use a text, or leave it out');
  const bound = values ?? given.values;
  if (bound !== undefined) requireArray('values', bound, 'pass the parameters in an array');
  return { text, values: bound, name };
}

function requireStatement(statement: PostgresStatement): PostgresStatement {
  requireObject('statement', statement, 'pass its text, or { text, values, name }');
  return requireKnown('statement', statement, { text: true, values: true, name: true });
}

const transactional = /^\s*(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT|PREPARE\s+TRANSACTION)\b/i;

/**
 * Whether a transaction can consist of it alone, without a word that begins or ends it: then nothing in it can end that one.
 * A procedure and an anonymous block could.
 */
export function standsAlone({ text }: Statement): boolean {
  return /^\s*(?:INSERT|UPDATE|DELETE|MERGE|SELECT|WITH)\b/i.test(text);
}

/** Runs it in a transaction. @throws {OptionError} if it was several, where the client cannot tell before. */
export async function runStatement<Row extends object>(
  client: PostgresClient,
  { text, values, name }: Statement,
): Promise<PostgresResult<Row>> {
  const bound = values && [...values];
  // Whatever its values, one message has one statement then.
  const config = { text, values: bound, name, queryMode: 'extended' };
  const isOfPg = client.getTransactionStatus !== undefined && !Object.hasOwn(client, 'query');
  const result =
    isOfPg || name !== undefined
      ? await client.query<Row>(config as unknown as string)
      : await client.query<Row>(text, bound);
  if (!Array.isArray(result)) return result;
  const remedy = 'pass one, or use fence.transaction';
  throw new OptionError('text', 'hidden', 'is several statements', remedy);
}
