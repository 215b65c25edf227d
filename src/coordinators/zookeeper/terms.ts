import type { NodeContent, NodeOperation } from '../../drivers/zookeeper/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import { parseObject } from './state.js';

/**
 * How many terms pass in a millisecond of the clock at which a namespace was made.
 *
 * A term is the number of the granting transaction (czxid: the leader's epoch in the upper 32 bits, a counter in the
 * lower) plus a base: the moment at which the namespace was made, in ms, times this. An ensemble that was wiped counts
 * from the beginning, but its namespaces are made later. So its terms are higher than all before, unless the old ensemble
 * had, on average over the life of the namespace, more than one election in 35 minutes (2^32 / 2,048 ms), or more than
 * two million transactions a second. The clock may go on until the year 2103 before terms become too large.
 */
const termsPerMs = 2_048;

/** What the terms of a namespace are counted from. */
export interface RootState {
  /** What is added to the number of the granting transaction. */
  readonly base: number;
  /** How much of the base came from `above`. */
  readonly raised: number;
  readonly version: number;
}

export function readRoot({ data, stat }: NodeContent, path: string): RootState {
  const written = data.length === 0 ? {} : parseObject(data.toString());
  const { raised = 0 } = (written ?? { raised: null }) as { raised?: unknown };
  if (typeof raised !== 'number' || !Number.isSafeInteger(raised) || raised < 0) {
    throw new RecordCorruptError(
      `the node ${path} holds no text of tenure's, so no term can be granted. Somebody else wrote it; empty it there.`,
    );
  }
  return { base: stat.createdAtMs * termsPerMs + raised, raised, version: stat.version };
}

/**
 * The base from which every later transaction is above `above`, with the operation that keeps it.
 *
 * @param knownZxid of a transaction that has happened, so that the granting one has a higher number.
 */
export function rootFor(
  root: RootState,
  above: number,
  knownZxid: number,
  path: string,
): { readonly base: number; readonly operation: NodeOperation } {
  const missing = above - (root.base + knownZxid);
  const { version } = root;
  if (missing <= 0) return { base: root.base, operation: { kind: 'check', path, version } };
  const data = Buffer.from(JSON.stringify({ tenure: 1, raised: root.raised + missing }));
  return { base: root.base + missing, operation: { kind: 'set', path, data, version } };
}
