import { parseLine, parseRecord } from '../../redis/index.js';
import { isTerm } from '../../term.js';
import { mergeLines } from './history.js';

/** One thing that a node remembers: a key of its server, as `recall` shows it and `seed` takes it. */
export interface Memory {
  readonly key: string;
  readonly kind: 'string' | 'list' | 'hash' | 'zset';
  /** Milliseconds until it is gone; 0: it stays. */
  readonly lifeMs: number;
  readonly value: string | readonly string[];
}

/** What somebody else has put in the place of it, of whatever type, nobody is told of. */
function ofKind(kind: Memory['kind'], memories: readonly Memory[]): Memory[] {
  return memories.filter((memory) => memory.kind === kind);
}

/** How much more than its own text a record may say: the claims of clients that have not decided yet. */
export const claimMetadata = 'claim';

/*
 * What one node has to be told of what others remember. Of each key several may say something else: what keeps more out
 * wins. Too much costs one vote for the time of one lease at most, too little could let a second holder in.
 */

const lease = /^2([LEX])\|(\d+)\|/;
const reservation = /^2R\|(\d+)\|/;

/**
 * The record of a name that a new vote must not contradict: nothing if there are but claims.
 *
 * It keeps others out, can be renewed and released, and is no vote for its own attempt: a minority may have had it, and
 * others the name since. Who repeats an attempt would else be granted its old term by nodes that never gave it.
 */
export function mergeRecords(memories: readonly Memory[]): Memory | undefined {
  const ranked = ofKind('string', memories)
    .flatMap((memory) => {
      const rank = rankOf(String(memory.value));
      return rank === undefined ? [] : [{ memory, rank }];
    })
    .sort((one, other) => compareRanks(other.rank, one.rank));
  const first = ranked[0];
  if (first === undefined) return undefined;
  const same = ranked.filter(({ rank }) => compareRanks(rank, first.rank) === 0);
  return withoutAttempt(longestLived(same.map(({ memory }) => memory)));
}

const noAttempt = '0'.repeat(32);
/** What stands before the attempt in the text of a lease. */
const beforeAttempt = /^(2[LEX]\|(?:[^|]*\|){5})[^|]*/;

function withoutAttempt(memory: Memory | undefined): Memory | undefined {
  return (
    memory && { ...memory, value: String(memory.value).replace(beforeAttempt, `$1${noAttempt}`) }
  );
}

/** Term first; within one, a lease before the reservation that may follow it, and a revoked one before a plain one. */
type Rank = readonly [term: number, stage: number];

function rankOf(text: string): Rank | undefined {
  // What a node takes for none of ours must not stand in the place of a record that others remember.
  const isOurs =
    parseRecord('', { text, remainingMs: -1, suspension: null, nowMs: 0 }) !== undefined;
  if (!isOurs || isClaim(text)) return undefined;
  const [, kind, term] = lease.exec(text) ?? [];
  if (kind !== undefined) return [Number(term), kind === 'X' ? 2 : 1];
  const [, reserved] = reservation.exec(text) ?? [];
  return reserved === undefined ? undefined : [Number(reserved), 0];
}

export function isClaim(text: string): boolean {
  return text.endsWith(`|${claimMetadata}`);
}

function compareRanks(one: Rank, other: Rank): number {
  return one[0] - other[0] || one[1] - other[1];
}

export function longestLived(memories: readonly Memory[]): Memory | undefined {
  const left = ({ lifeMs }: Memory) => (lifeMs === 0 ? Number.POSITIVE_INFINITY : lifeMs);
  return [...memories].sort((one, other) => left(other) - left(one))[0];
}

/** All lines that somebody remembers. */
export function mergeHistories(memories: readonly Memory[]): Memory | undefined {
  const lines = ofKind('list', memories);
  const longest = longestLived(lines);
  if (longest === undefined) return undefined;
  // What is none of ours stays with the node that has it: of two it would be what most say.
  const lists = lines.map(({ value }) =>
    (value as readonly string[]).filter((text) => parseLine(text) !== undefined),
  );
  return { ...longest, value: mergeLines(lists, { majority: 1, silentCount: 0 }) };
}

/** The document that was accepted last, and the highest promise given to anybody. */
export function mergeDocuments(memories: readonly Memory[]): Memory | undefined {
  const all = ofKind('hash', memories)
    .map((memory) => ({ memory, fields: fieldsOf(memory) }))
    .filter(({ fields }) => isDocument(fields));
  const accepted = all.sort((one, other) =>
    compareTexts(other.fields.get('ballot') ?? '', one.fields.get('ballot') ?? ''),
  )[0];
  if (accepted === undefined) return undefined;
  const promised = all
    .map(({ fields }) => fields.get('promised') ?? '')
    .sort(compareTexts)
    .at(-1);
  if (promised) accepted.fields.set('promised', promised);
  return { ...accepted.memory, lifeMs: 0, value: [...accepted.fields].flat() };
}

/** A number, and a random part, of one length each: they compare as texts. What is none would outbid everybody for ever. */
export const ballotForm = { digits: 16, random: 16 } as const;
const ballot = new RegExp(`^[0-8]\\d{${ballotForm.digits - 1}}\\.[0-9a-f]{${ballotForm.random}}$`);

function isDocument(fields: ReadonlyMap<string, string>): boolean {
  const isBallot = (text = '') => text === '' || ballot.test(text);
  return isBallot(fields.get('ballot')) && isBallot(fields.get('promised'));
}

/** The highest term that one of them remembers. */
export function mergeTerms(memories: readonly Memory[]): Memory | undefined {
  const terms = ofKind('string', memories).filter(
    ({ value }) => /^\d{1,16}$/.test(String(value)) && isTerm(Number(value)),
  );
  const [highest] = terms.sort((one, other) => Number(other.value) - Number(one.value));
  return highest && { ...highest, lifeMs: longestLived(terms)?.lifeMs ?? 0 };
}

/** The union, each member with its highest score. */
export function mergeGroups(memories: readonly Memory[]): Memory | undefined {
  const indexes = ofKind('zset', memories);
  const longest = longestLived(indexes);
  if (longest === undefined) return undefined;
  const scores = new Map<string, string>();
  for (const [name, score] of indexes.flatMap((memory) => [...fieldsOf(memory)])) {
    if (Number(score) > Number(scores.get(name) ?? 0)) scores.set(name, score);
  }
  return { ...longest, value: [...scores].flat() };
}

/** All suspensions, but for those that somebody knows to have been ended since. */
export function mergeSuspensions(
  suspensions: readonly Memory[],
  resumptions: readonly Memory[],
): Map<string, string> {
  const ended = new Set(
    ofKind('hash', resumptions).flatMap((memory) =>
      [...fieldsOf(memory)].map(([name, text]) => `${name}\0${text}`),
    ),
  );
  const merged = new Map<string, string>();
  for (const [name, text] of ofKind('hash', suspensions).flatMap((memory) => [
    ...fieldsOf(memory),
  ])) {
    if (!ended.has(`${name}\0${text}`)) merged.set(name, text);
  }
  return merged;
}

export function fieldsOf({ value }: Memory): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < value.length; at += 2)
    fields.set(value[at] as string, value[at + 1] as string);
  return fields;
}

function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
