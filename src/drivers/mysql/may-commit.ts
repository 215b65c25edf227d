/*
 * What leaves a transaction open, or takes it back whole, by its first word. Functions cannot commit; procedures, and what changes
 * tables or users, can, or do.
 */
const leavesOpen =
  /^[\s(]*(?:select|insert|update|delete|replace|with|values|table|savepoint|release|rollback|do|show|explain|describe|desc|kill|set(?!\s+statement\b))\b/i;

/** One of these in a `SET` lets the next statements commit, each by itself. */
const commitsLater = /autocommit/i;

/**
 * Whether a statement may commit the transaction that is open, as far as its text tells, or let a later one do so. In doubt it
 * may: several in one text, one that begins with a comment, and what is no text.
 *
 * @param statement a text, or an object with one as `sql`.
 */
export function mayCommit(statement: unknown): boolean {
  const sql: unknown = typeof statement === 'string' ? statement : Object(statement).sql;
  if (typeof sql !== 'string') return true;
  const isOne = !sql.replace(/;\s*$/, '').includes(';');
  return !isOne || !leavesOpen.test(sql) || commitsLater.test(sql);
}
