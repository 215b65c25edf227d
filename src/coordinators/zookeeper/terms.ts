import type { NodeContent, NodeOperation } from '../../drivers/zookeeper/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import { mostTermsPerMs } from '../term.js';
import { parseObject } from './state.js';

/**
 * How many terms pass in a millisecond of the clock at which a namespace was made.
 *
 * A term is the number of the granting transaction (czxid) plus a base, and the base is such that terms begin at the
 * moment at which the namespace was made, in ms, times this. An ensemble that was wiped counts from the beginning, but
 * its namespaces are made later: their terms are higher than all before, as long as the old ensemble had no more
 * transactions than this in a millisecond, on average over the life of the namespace. That is more than any can.
 */
const termsPerMs = mostTermsPerMs;

/** Of a transaction number, the upper half is the epoch of the leader, the lower half its counter. */
const epochSize = 2 ** 32;

/** What the terms of a namespace are counted from. */
export interface TermBase {
  /** What is added to the number of a granting transaction. */
  readonly base: number;
  /** The epoch for which it is: a transaction in another one would have a term far ahead of the clock. */
  readonly epoch: number;
  /** What has to hold, or is written, in the step that grants. */
  readonly operations: readonly NodeOperation[];
}

/** Where it is written. */
export interface TermPaths {
  readonly root: string;
  /** Written in each step that grants, so that its own number is that of the last grant. */
  readonly granted: string;
}

interface WrittenRoot {
  readonly tenure?: unknown;
  readonly raised?: unknown;
  readonly epoch?: unknown;
}

/**
 * The base for a grant that comes after the transaction `knownZxid`, in a namespace with these two nodes.
 *
 * With each election the numbers jump by 2^32, and the terms would with them, far ahead of the clock. So the first grant in
 * another epoch moves the base, to go on right after the last grant before; `above` moves it up. Both are written under
 * the condition that nobody else has moved it, or granted, since it was read.
 *
 * @throws {RecordCorruptError} if the text in the root is not ours.
 */
export function termBase(
  root: NodeContent,
  granted: NodeContent,
  knownZxid: number,
  above: number,
  paths: TermPaths,
): TermBase {
  const { createdAtMs, createdZxid, version } = root.stat;
  const written = readRoot(root, paths.root);
  const { raised = 0, epoch = epochOf(createdZxid) } = written;
  const before = createdAtMs * termsPerMs - createdZxid + raised;
  const isOtherEpoch = epochOf(knownZxid) !== epoch;
  const jump = isOtherEpoch ? granted.stat.modifiedZxid - knownZxid : 0;
  const shift = Math.max(jump, above - before - knownZxid);
  const note: NodeOperation = { kind: 'set', path: paths.granted, data: Buffer.alloc(0) };
  if (shift === 0 || (shift < 0 && !isOtherEpoch))
    return {
      base: before,
      epoch: epochOf(knownZxid),
      operations: [{ kind: 'check', path: paths.root, version }, note],
    };
  const next = { tenure: 1, raised: raised + shift, epoch: epochOf(knownZxid) };
  return {
    base: before + shift,
    epoch: epochOf(knownZxid),
    operations: [
      { kind: 'set', path: paths.root, data: Buffer.from(JSON.stringify(next)), version },
      { ...note, version: granted.stat.version },
    ],
  };
}

export function epochOf(zxid: number): number {
  return Math.floor(zxid / epochSize);
}

/** @throws {RecordCorruptError} */
export function readRoot(
  { data }: Pick<NodeContent, 'data'>,
  path: string,
): { raised?: number; epoch?: number } {
  if (data.length === 0) return {};
  const written = parseObject(data.toString()) as WrittenRoot | undefined;
  const { raised, epoch } = written ?? {};
  if (written?.tenure === 1 && typeof raised === 'number' && typeof epoch === 'number') {
    if (Number.isSafeInteger(raised) && Number.isSafeInteger(epoch)) return { raised, epoch };
  }
  throw new RecordCorruptError(
    `the node ${path} holds no text of tenure's, so no term can be granted. Somebody else wrote it; empty it there.`,
  );
}
