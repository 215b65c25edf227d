import type { Runtime } from '../../time/index.js';
import type { QuorumKeys } from './keys.js';
import { settleMs } from './limits.js';
import {
  fieldsOf,
  longestLived,
  type Memory,
  mergeDocuments,
  mergeGroups,
  mergeHistories,
  mergeRecords,
  mergeSuspensions,
  mergeTerms,
} from './merge/memories.js';
import type { QuorumNode } from './node.js';
import {
  abandonSeedingScript,
  beginSeedingScript,
  describeScript,
  finishSeedingScript,
  recallScript,
  seedScript,
} from './scripts/membership.js';

/** What of the quorum is needed for it. */
export interface Seedbed {
  readonly nodes: readonly QuorumNode[];
  readonly keys: QuorumKeys;
  readonly runtime: Runtime;
  pause(durationMs: number): Promise<void>;
  /** Says that the node is out from now on. */
  noteLost(number: number): void;
}

export type SeedingOutcome =
  | 'seeded'
  | 'member'
  | 'stranger'
  /** It granted leases of the namespace as a single server. */
  | 'used-alone'
  | 'busy'
  | 'failed';

const stepTimeoutMs = 2_000;
/** Whoever is at it and dies keeps others from it for this long. */
const seedingLifeMs = 60_000;
const itemsPerStep = 200;
const charactersPerStep = 512 * 1024;

/**
 * Gives a node that lost its memory what a majority of the others remember, and then its vote.
 *
 * It waits first: what counts together with a vote that this node gave before the loss may still be on its way to others,
 * and must be there when these are asked. Nothing counts with it that is later (see `memories-kept.ts`). From then on whatever was granted is known to one of any majority of the others: a majority
 * granted it, and at most this node of that has forgotten it.
 */
export async function seedNode(
  quorum: Seedbed,
  number: number,
  marker: string,
  sourceCount: number,
): Promise<SeedingOutcome> {
  const { keys } = quorum;
  const node = quorum.nodes[number] as QuorumNode;
  const [standing] = (await node.ask(
    describeScript,
    { keys: [keys.marker, keys.identity, keys.quarantine], args: [] },
    stepTimeoutMs,
  )) as [string | null];
  if (standing !== null) return standing === marker ? 'member' : 'stranger';
  const token = quorum.runtime.randomHex(16);
  const begun = await node.ask(
    beginSeedingScript,
    { keys: [keys.marker, keys.seeding, keys.term], args: [token, seedingLifeMs] },
    stepTimeoutMs,
  );
  if (begun !== 'used-alone') quorum.noteLost(number);
  if (begun !== 'begun') return begun as 'member' | 'busy' | 'used-alone';
  const outcome = await giveBack(quorum, node, marker, token, sourceCount).catch(
    () => 'failed' as const,
  );
  if (outcome !== 'seeded')
    await node.ask(abandonSeedingScript, { keys: [keys.seeding], args: [token] }, stepTimeoutMs);
  return outcome;
}

async function giveBack(
  quorum: Seedbed,
  node: QuorumNode,
  marker: string,
  token: string,
  sourceCount: number,
): Promise<'seeded' | 'used-alone' | 'failed'> {
  const { keys } = quorum;
  await quorum.pause(settleMs);
  const others = quorum.nodes.filter((other) => other !== node);
  const recalled = await Promise.all(others.map((other) => recall(quorum, other, marker)));
  const known = recalled.filter((memories) => memories !== undefined);
  if (known.length < sourceCount) return 'failed';
  const { memories, term } = merge(quorum, known);
  for (const items of steps(memories)) {
    const call = { keys: [keys.marker, keys.seeding], args: [token, JSON.stringify(items)] };
    if ((await node.ask(seedScript, call, stepTimeoutMs)) !== 1) return 'failed';
  }
  const finish = {
    keys: [keys.marker, keys.seeding, keys.quarantine, keys.identity, keys.term],
    args: [token, marker, ...(term === undefined ? [] : [String(term.value), term.lifeMs])],
  };
  const finished = await node.ask(finishSeedingScript, finish, stepTimeoutMs);
  if (finished === 'member') return 'seeded';
  return finished === 'used-alone' ? finished : 'failed';
}

/** By key. */
type Memories = ReadonlyMap<string, Memory>;

type RecallReply = readonly [
  cursor: string,
  found: readonly (readonly [string, Memory['kind'], number, string | readonly string[]])[],
];

/** Everything that a member remembers, but for who waits: that is told anew with the next refresh. */
async function recall(
  quorum: Seedbed,
  node: QuorumNode,
  marker: string,
): Promise<Memories | undefined> {
  const { keys } = quorum;
  const memories = new Map<string, Memory>();
  let cursor = '0';
  do {
    const vote = await node.vote(
      recallScript,
      { keys: [], args: [cursor, keys.everything] },
      { keys, text: marker },
      stepTimeoutMs,
    );
    if (vote.kind !== 'answered') return undefined;
    const [next, found] = vote.answer as RecallReply;
    for (const [key, kind, lifeMs, value] of found)
      memories.set(key, { key, kind, lifeMs: Math.max(0, lifeMs), value });
    cursor = next;
  } while (cursor !== '0');
  return memories;
}

/** The last term comes with the vote, the rest before it. */
function merge(
  quorum: Seedbed,
  known: readonly Memories[],
): { readonly memories: Memory[]; readonly term: Memory | undefined } {
  const { keys } = quorum;
  const all = new Set(known.flatMap((memories) => [...memories.keys()]));
  const mergers: [string, (memories: readonly Memory[]) => Memory | undefined][] = [
    [keys.leaseStart, mergeRecords],
    [keys.historyStart, mergeHistories],
    [keys.documentStart, mergeDocuments],
    [keys.groupStart, mergeGroups],
  ];
  const of = (key: string) => known.flatMap((memories) => memories.get(key) ?? []);
  const merged = [...all].flatMap((key) => {
    const merger = mergers.find(([start]) => key.startsWith(start))?.[1];
    return merger?.(of(key)) ?? [];
  });
  const suspensions = mergeSuspensions(of(keys.suspended), of(keys.resumed));
  if (suspensions.size > 0)
    merged.push({ key: keys.suspended, kind: 'hash', lifeMs: 0, value: [...suspensions].flat() });
  const resumed = of(keys.resumed).filter(({ kind }) => kind === 'hash');
  const fields = new Map(resumed.flatMap((memory) => [...fieldsOf(memory)]));
  const lifeMs = longestLived(resumed)?.lifeMs ?? 0;
  if (fields.size > 0)
    merged.push({ key: keys.resumed, kind: 'hash', lifeMs, value: [...fields].flat() });
  return { memories: merged, term: mergeTerms(of(keys.term)) };
}

/** Few and small enough not to hold up a node for long. */
function* steps(memories: readonly Memory[]): Generator<object[]> {
  let step: object[] = [];
  let length = 0;
  for (const { key, kind, lifeMs, value } of memories) {
    step.push({ key, kind, life: lifeMs, value });
    length += typeof value === 'string' ? value.length : value.join('').length;
    if (step.length < itemsPerStep && length < charactersPerStep) continue;
    yield step;
    step = [];
    length = 0;
  }
  if (step.length > 0) yield step;
}
