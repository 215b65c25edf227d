import type { LeaseRecord } from '../../../coordinators/index.js';
import { elapsedMs, type Instant } from '../../../time/index.js';
import { endOf, type Sighted, sayRecord } from '../../display/record.js';
import { visible } from '../../display/visible.js';
import { answerWithinMs, unansweredSinceExpiry } from '../lookout.js';
import type { Sight } from '../target.js';
import { shortened } from './strip.js';

/** What is shown. */
export interface Board {
  readonly address: string;
  readonly namespace: string;
  /** A name or a group; `undefined`: the root group. */
  readonly target: string | undefined;
  /** What was seen last, names of shards apart; empty before the first look. */
  readonly names: Sight;
  readonly shards: ShardSight | undefined;
  /** When that was asked for; what has a time left is told from then on. */
  readonly askedAt: Instant | undefined;
  /** Of the last looks, oldest first, in milliseconds. */
  readonly roundTripsMs: readonly number[];
  /** Set while the store does not answer. */
  readonly unsure: string | undefined;
  /** Oldest first. */
  readonly events: readonly BoardEvent[];
}

export interface ShardSight {
  readonly group: string;
  /** By number; a shard that is free is not there. */
  readonly records: ReadonlyMap<number, LeaseRecord>;
}

export interface BoardEvent {
  /** Unix time by this machine's clock. */
  readonly atMs: number;
  readonly text: string;
  readonly isBad: boolean;
}

export interface Look {
  readonly names: Sight;
  readonly shards: ShardSight | undefined;
  readonly askedAt: Instant;
  readonly answeredAt: Instant;
}

const eventsKept = 200;
const roundTripsKept = 40;

export function emptyBoard(place: Pick<Board, 'address' | 'namespace' | 'target'>): Board {
  return {
    ...place,
    names: new Map(),
    shards: undefined,
    askedAt: undefined,
    roundTripsMs: [],
    unsure: undefined,
    events: [],
  };
}

/** The board after a look that was answered: what differs from before is an event. */
export function looked(board: Board, look: Look): Board {
  const { names, shards, askedAt, answeredAt } = look;
  const changes = board.askedAt === undefined ? [] : changesOf(board, look);
  const told =
    board.unsure === undefined ? [] : [{ text: 'the store answers again', isBad: false }];
  return {
    ...board,
    names,
    shards,
    askedAt,
    unsure: undefined,
    roundTripsMs: [...board.roundTripsMs, elapsedMs(askedAt, answeredAt)].slice(-roundTripsKept),
    events: withEvents(board, [...told, ...changes], answeredAt),
  };
}

/** The board after one that was not. */
export function failed(board: Board, why: string, now: Instant): Board {
  if (board.unsure !== undefined) return board;
  const event = { text: `unsure: ${why}`, isBad: true };
  return { ...board, unsure: why, events: withEvents(board, [event], now) };
}

/**
 * The board at `now`, while a look is on its way: what the store said is good no longer than it said. A look that is due
 * then has so long for its answer as one that tells in lines.
 */
export function doubted(board: Board, now: Instant): Board {
  const { askedAt, names, shards } = board;
  if (askedAt === undefined) return board;
  const records = [...names.values(), ...(shards?.records.values() ?? [])];
  const endsMs = Math.min(...records.map(endOf));
  if (elapsedMs(askedAt, now) < endsMs + answerWithinMs) return board;
  return failed(board, unansweredSinceExpiry, now);
}

type News = Omit<BoardEvent, 'atMs'>;

function withEvents({ events }: Board, news: readonly News[], { wallMs }: Instant): BoardEvent[] {
  return [...events, ...news.map((one) => ({ atMs: wallMs, ...one }))].slice(-eventsKept);
}

function changesOf(board: Board, { names, shards }: Look): News[] {
  const all = [...new Set([...board.names.keys(), ...names.keys()])];
  const changed = all.flatMap((name) => change(name, board.names.get(name), names.get(name)));
  return [...changed, ...shardChanges(board.shards, shards)];
}

function change(name: string, before: Sighted | undefined, now: Sighted | undefined): News[] {
  const text = sayRecord(now);
  if (sayRecord(before) === text) return [];
  const isBad = now === undefined || now.state !== 'held' || now.revocation !== undefined;
  const id = now?.state === 'held' ? now.holder.id : '';
  return [{ text: `${name}  ${text.replace(visible(id), () => sayOwner(id))}`, isBad }];
}

/** Shards move by the dozen: one line for each pair of workers. */
function shardChanges(before: ShardSight | undefined, now: ShardSight | undefined): News[] {
  const moves = new Map<string, { from: string; to: string; count: number }>();
  const numbers = new Set([...(before?.records.keys() ?? []), ...(now?.records.keys() ?? [])]);
  for (const number of numbers) {
    const from = ownerOf(before?.records.get(number));
    const to = ownerOf(now?.records.get(number));
    if (from === to) continue;
    const key = JSON.stringify([from, to]);
    const known = moves.get(key);
    moves.set(key, { from, to, count: (known?.count ?? 0) + 1 });
  }
  return [...moves.values()].map(({ from, to, count }) => ({
    text: `${count} ${count === 1 ? 'shard' : 'shards'}: ${sayOwner(from)} -> ${sayOwner(to)}`,
    isBad: to === nobody,
  }));
}

/** Two of them fit beside the time on 80 columns. */
const ownerColumns = 26;

function sayOwner(id: string): string {
  return shortened(visible(id), ownerColumns);
}

export const nobody = 'nobody';

/** The id of the worker that holds a shard. */
export function ownerOf(record: LeaseRecord | undefined): string {
  return record?.state === 'held' ? record.holder.id : nobody;
}
