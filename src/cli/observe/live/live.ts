import { isTransient, redactSecrets } from '../../../errors/index.js';
import type { Unsubscribe } from '../../../events/index.js';
import { Backoff } from '../../../time/index.js';
import { Bell } from '../../bell.js';
import { endOf } from '../../display/record.js';
import { exitStatusOf } from '../../exit-status.js';
import type { Session } from '../../session.js';
import { groupsOf, lookAt, lookInto, type Sight } from '../target.js';
import {
  type Board,
  doubted,
  emptyBoard,
  failed,
  type Look,
  looked,
  type ShardSight,
} from './board.js';
import { frame } from './frame.js';
import type { Screen } from './screen.js';

/** A wake is only a hint, and some stores wake nobody when a lease expires; so it is looked at least this often. */
const lookEveryMs = 1_000;
/** What is left of a lease goes on between looks. */
const drawEveryMs = 250;
const afterFailure = { firstMs: 250, limitMs: 5_000 };

/** Shows what stands there on the whole terminal, until somebody stops it. Answers with the exit status of that. */
export async function watchLive(
  session: Session,
  target: string | undefined,
  screen: Screen,
): Promise<number> {
  const { coordinator, runtime, signal, terminal, address, namespace } = session;
  // Whatever fails from here on: the screen is taken already, and has to be given back.
  const ends: Unsubscribe[] = [() => screen.leave()];
  try {
    const bell = new Bell(runtime);
    for (const group of new Set([...groupsOf(target), ...shardGroupOf(target)]))
      ends.push(coordinator.watch(group, bell.ring));
    let board = emptyBoard({ address, namespace, target });
    const draw = () =>
      screen.draw(
        frame(board, runtime.now(), screen.size, (format, text) => terminal.style(format, text)),
      );
    ends.push(screen.onResize(draw));
    let drawing = runtime.setTimer(drawEveryMs, function again() {
      board = doubted(board, runtime.now());
      draw();
      drawing = runtime.setTimer(drawEveryMs, again);
    });
    ends.push(() => drawing.cancel());
    const backoff = new Backoff(runtime, afterFailure);
    draw();
    while (!signal.aborted) {
      const next = await look(session, target, board);
      board = next.board;
      draw();
      if (next.isAnswered) backoff.reset();
      const pauseMs = next.isAnswered
        ? Math.min(lookEveryMs, untilNextEnd(board) + 5)
        : backoff.nextMs();
      await bell.wait(pauseMs, signal);
    }
  } finally {
    for (const end of ends.reverse()) end();
  }
  return exitStatusOf(signal.reason);
}

async function look(session: Session, target: string | undefined, board: Board) {
  const { runtime } = session;
  const askedAt = runtime.now();
  try {
    const [seen, inShards] = await Promise.all([
      lookAt(session, target),
      lookIntoShards(session, target),
    ]);
    const shards = shardsIn(inShards, target);
    const isShard = (name: string) => shards !== undefined && name.startsWith(`${shards.group}/`);
    // Who owns a shard that cannot be read, the map does not tell: it has a line of its own.
    const unreadable = [...inShards].filter(([, record]) => record?.state === 'unreadable');
    const names = new Map([...[...seen].filter(([name]) => !isShard(name)), ...unreadable]);
    const answer: Look = { names, shards, askedAt, answeredAt: runtime.now() };
    return { board: looked(board, answer), isAnswered: true };
  } catch (error) {
    // Whoever began just now is told at once that it cannot be reached.
    if (board.askedAt === undefined || !isTransient(error)) throw error;
    return { board: failed(board, redactSecrets(error.message), runtime.now()), isAnswered: false };
  }
}

/** The shards of a group of workers lie in a group of their own. */
function shardGroupOf(target: string | undefined): string[] {
  if (target === undefined) return [];
  return [target.endsWith('/shards') ? target : `${target}/shards`];
}

async function lookIntoShards(session: Session, target: string | undefined): Promise<Sight> {
  const [group] = shardGroupOf(target);
  return group === undefined ? new Map() : await lookInto(session, group);
}

function shardsIn(sight: Sight, target: string | undefined): ShardSight | undefined {
  const [group] = shardGroupOf(target);
  if (group === undefined) return undefined;
  const numbered = [...sight].flatMap(([name, record]) => {
    const number = Number(name.slice(group.length + 1));
    const isShown = record !== undefined && record.state !== 'unreadable';
    return isShown && Number.isInteger(number) && number >= 0 ? [[number, record] as const] : [];
  });
  return numbered.length === 0 ? undefined : { group, records: new Map(numbered) };
}

function untilNextEnd({ names }: Board): number {
  return Math.min(lookEveryMs, ...[...names.values()].map(endOf));
}
