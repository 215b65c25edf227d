import { endsInMs } from '../../../coordinators/remaining.js';
import { isTransient, redactSecrets } from '../../../errors/index.js';
import type { Unsubscribe } from '../../../events/index.js';
import { Backoff } from '../../../time/index.js';
import { Bell } from '../../bell.js';
import { exitStatusOf } from '../../exit-status.js';
import { call, type Session } from '../../session.js';
import { groupsOf, lookAt } from '../target.js';
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
    const [seen, shards] = await Promise.all([lookAt(session, target), shardsOf(session, target)]);
    const isShard = (name: string) => shards !== undefined && name.startsWith(`${shards.group}/`);
    const names = new Map([...seen].filter(([name]) => !isShard(name)));
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

async function shardsOf(
  { coordinator }: Session,
  target: string | undefined,
): Promise<ShardSight | undefined> {
  const [group] = shardGroupOf(target);
  if (group === undefined) return undefined;
  const listed = await coordinator.list(group, call);
  const numbered = listed.flatMap((record) => {
    const number = Number(record.name.slice(group.length + 1));
    return Number.isInteger(number) && number >= 0 ? [[number, record] as const] : [];
  });
  return numbered.length === 0 ? undefined : { group, records: new Map(numbered) };
}

function untilNextEnd({ names }: Board): number {
  const ends = [...names.values()].flatMap((record) =>
    record === undefined ? [] : endsInMs(record),
  );
  return Math.min(lookEveryMs, ...ends);
}
