import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { columnsOf } from '../../src/cli/display/visible.js';
import { InterruptedError } from '../../src/cli/exit-status.js';
import {
  type Board,
  doubted,
  emptyBoard,
  failed,
  looked,
} from '../../src/cli/observe/live/board.js';
import { type FrameSize, frame } from '../../src/cli/observe/live/frame.js';
import { watchLive } from '../../src/cli/observe/live/live.js';
import { type ScreenOwner, takeScreen } from '../../src/cli/observe/live/screen.js';
import { shardMap } from '../../src/cli/observe/live/shard-map.js';
import { render, type Strip } from '../../src/cli/observe/live/strip.js';
import { Holder, type LeaseRecord } from '../../src/coordinators/index.js';
import type { Instant } from '../../src/time/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { createDesk } from './session.js';

const runtime = new VirtualRuntime();
const textOf = (line: Strip | undefined) => (line === undefined ? '' : render(line, 80));
const plain = (_format: unknown, text: string) => text;
const startMs = Date.UTC(2026, 10, 30, 7, 30);

function at(ms: number): Instant {
  return { monotonicMs: ms, uptimeMs: ms, wallMs: startMs + ms };
}

function held(name: string, id: string, more: Partial<LeaseRecord> = {}): LeaseRecord {
  return {
    state: 'held',
    name,
    holder: Holder.create(id, runtime),
    term: 1_796_023_803_604,
    leaseId: 'a'.repeat(32),
    ttlMs: 15_000,
    remainingMs: 12_000,
    grantedAtMs: startMs - 95_000,
    renewedAtMs: startMs - 3_000,
    metadata: undefined,
    graceMs: 0,
    revocation: undefined,
    ...more,
  } as LeaseRecord;
}

function suspended(name: string): LeaseRecord {
  const suspension = { by: 'ana@desk', reason: 'INC-12', atMs: startMs };
  return { state: 'suspended', name, suspension, ending: undefined };
}

/** Two looks at a group with workers: a leader changes, a name is suspended, shards move. */
function scene(): Board {
  const owners = (count: number) =>
    new Map(
      Array.from({ length: 64 }, (_, number) => number)
        .filter((number) => number !== 9)
        .map((number) => {
          const id = number < count ? 'worker-1' : 'worker-2';
          return [number, held(`chat/shards/${number}`, id)] as const;
        }),
    );
  const names = (leader: string, reports: LeaseRecord) =>
    new Map<string, LeaseRecord | undefined>([
      ['chat/a-name-that-is-longer-than-there-is-room-for-it-here', held('chat/a', 'replica-3')],
      ['chat/planner', held('chat/planner', leader)],
      ['chat/reports', reports],
      ['chat/spare', undefined],
    ]);
  const place = { address: 'redis://store.example:6379', namespace: 'default', target: 'chat' };
  const first = looked(emptyBoard(place), {
    names: names('replica-1', held('chat/reports', 'replica-2')),
    shards: { group: 'chat/shards', records: owners(40) },
    askedAt: at(0),
    answeredAt: at(1.5),
  });
  return looked(first, {
    names: names('replica-2', suspended('chat/reports')),
    shards: { group: 'chat/shards', records: owners(32) },
    askedAt: at(1_000),
    answeredAt: at(1_024),
  });
}

const shown = (board: Board, size: FrameSize) => frame(board, at(2_000), size, plain);

describe('the live view', () => {
  it('puts everything below one another on 80 columns', () => {
    expect(shown(scene(), { columns: 80, rows: 24 })).toEqual([
      'tenure watch  chat  in default at redis://store.example:6379           07:30:02Z',
      'the store answers in 24.0 ms  ▂▅',
      '',
      'NAME                   HOLDER      TERM           HELD FOR   LEFT',
      'chat/a-name-that-is-l… replica-3   1796023803604  1 m 36 s   ███████░░ 11.0 s',
      'chat/planner           replica-2   1796023803604  1 m 36 s   ███████░░ 11.0 s',
      'chat/reports           suspended by ana@desk: INC-12',
      'chat/spare             free',
      '',
      'chat/shards  64 shards, 2 workers, 1 free',
      '      a worker-1 31   b worker-2 32',
      '    0 aaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',
      '',
      'LAST EVENTS',
      '07:30:01Z  8 shards: worker-1 -> worker-2',
      '07:30:01Z  chat/reports  suspended by ana@desk: INC-12',
      '07:30:01Z  chat/planner  held by replica-2, term 1796023803604',
    ]);
  });

  it('puts the events beside the rest on 200 columns, and cuts no name', () => {
    const lines = shown(scene(), { columns: 200, rows: 20 });
    const left = lines.map((line) => line.slice(0, 123).trimEnd());
    expect(left.slice(3)).toEqual(
      [
        'NAME                                                       HOLDER      TERM           HELD FOR   LEFT                       L',
        'chat/a-name-that-is-longer-than-there-is-room-for-it-here  replica-3   1796023803604  1 m 36 s   ██████████░░░░ 11.0 s      0',
        'chat/planner                                               replica-2   1796023803604  1 m 36 s   ██████████░░░░ 11.0 s      0',
        'chat/reports                                               suspended by ana@desk: INC-12                                    0',
        'chat/spare                                                 free',
        '',
        'chat/shards  64 shards, 2 workers, 1 free',
        '      a worker-1 31   b worker-2 32',
        '    0 aaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',
      ].map((line) => line.slice(0, 123).trimEnd()),
    );
    expect(lines[4]?.slice(124)).toBe('07:30:01Z  8 shards: worker-1 -> worker-2');
    expect(lines[0]).toMatch(
      / {2}chat {2}in default at redis:\/\/store\.example:6379 +2026-11-30T07:30:02Z$/,
    );
  });

  it.each([20, 40, 79, 80, 81, 139, 140, 200, 500])(
    'never overflows %d columns, nor its rows',
    (columns) => {
      for (const rows of [3, 8, 24, 60]) {
        const lines = shown(scene(), { columns, rows });
        expect(lines.length).toBeLessThanOrEqual(rows);
        for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
      }
    },
  );

  it('tells who holds what on any terminal: the rest makes room for it', () => {
    const row = (columns: number) =>
      shown(scene(), { columns, rows: 24 }).find((line) => line.startsWith('chat/pl'));
    expect(row(20)).toBe('chat/pla… replica-2');
    expect(row(30)).toBe('chat/pla… replica-2  11.0 s');
    expect(row(50)).toBe('chat/planner       replica-2   ███████░░ 11.0 s');
    expect(shown(scene(), { columns: 20, rows: 24 })[0]).toBe('tenure watch  chat …');
  });

  it('gives a name the columns that it takes', () => {
    const name = '\u6f22\u5b57\u6f22\u5b57';
    const board = looked(emptyBoard({ address: 'a', namespace: 'b', target: undefined }), {
      names: new Map([[name, held(name, 'r1')]]),
      shards: undefined,
      askedAt: at(0),
      answeredAt: at(1),
    });
    expect(shown(board, { columns: 80, rows: 24 })[4]).toMatch(new RegExp(`^${name}  r1 `));
  });

  it('goes on counting down between two looks', () => {
    const [first, later] = [at(1_000), at(9_500)].map((now) =>
      frame(scene(), now, { columns: 80, rows: 24 }, plain).find((line) =>
        line.startsWith('chat/planner'),
      ),
    );
    expect(first).toContain(' 12.0 s');
    expect(later).toContain(' 3.5 s');
  });

  it('shows nothing as certain while the store does not answer, and says once that it is unsure', () => {
    const doubted = failed(
      failed(scene(), 'no answer within 5000 ms', at(3_000)),
      'again',
      at(4_000),
    );
    const lines = shown(doubted, { columns: 80, rows: 24 });
    expect(lines[1]).toBe('unsure: no answer within 5000 ms');
    expect(lines.filter((line) => line.includes('unsure'))).toHaveLength(2);
  });

  it('is unsure half a second after what the store told last has run out', () => {
    const asked = 1_000;
    expect(doubted(scene(), at(asked + 12_499)).unsure).toBeUndefined();
    const board = doubted(scene(), at(asked + 12_500));
    expect(board.unsure).toBe('the store has not answered since what it told last ran out');
    expect(board.events.at(-1)?.isBad).toBe(true);
    expect(doubted(board, at(asked + 20_000))).toBe(board);
  });

  it('colours a shard by its worker, and each worker alike in map and legend', () => {
    const painted = (format: unknown, text: string) => `<${format}>${text}</>`;
    const { shards } = scene();
    const [, legend, row] = shardMap(shards as NonNullable<typeof shards>, 80, 10, painted);
    expect(textOf(legend)).toMatch(/<cyan>a worker-1 31 +<\/><magenta>b worker-2 32 +<\/>/);
    expect(textOf(row)).toContain('<cyan>a</><dim>.</><cyan>a</>');
    expect(textOf(row)).toContain('<magenta>b</>');
  });

  it('leaves of long ids what tells one from another: their begin and their end', () => {
    const id = (number: number) => `orders-worker-7f9c6d5b8c-in-europe-west-${number}`;
    const records = (owner: number) =>
      new Map([0, 1, 2, 3].map((one) => [one, held(`g/shards/${one}`, id((one % 3) + owner))]));
    const look = (owner: number, ms: number) => ({
      names: new Map([['g', held('g', id(owner))]]),
      shards: { group: 'g/shards', records: records(owner) },
      askedAt: at(ms),
      answeredAt: at(ms + 1),
    });
    const place = { address: 'redis://store', namespace: 'default', target: 'g' };
    const board = looked(looked(emptyBoard(place), look(10, 0)), look(20, 1_000));
    const lines = shown(board, { columns: 80, rows: 24 });
    expect(lines).toContainEqual(
      '      a orders-…est-20 2   b orders-…est-21 1   c orders-…est-22 1',
    );
    expect(lines).toContainEqual(expect.stringMatching(/^g +orders-worker…rope-west-20 179/));
    expect(lines.at(-1)).toBe(
      '07:30:01Z  g  held by orders-worker…rope-west-20, term 1796023803604',
    );
    expect(lines).toContainEqual(
      '07:30:01Z  2 shards: orders-worker…rope-west-10 -> orders-worker…rope-west-20',
    );
    for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(80);
  });

  it('shows more workers than there is room for by their number', () => {
    const records = new Map(
      Array.from({ length: 64 }, (_, number) => [
        number,
        held(`g/shards/${number}`, `worker-${number}`),
      ]),
    );
    const [, legend] = shardMap({ group: 'g/shards', records }, 60, 10, plain);
    expect(textOf(legend)).toMatch(/\+\d+$/);
    expect(columnsOf(textOf(legend))).toBeLessThanOrEqual(60);
  });
});

describe('tenure watch on a terminal', () => {
  it('draws what stands there and each change, and gives the terminal back at the end', async () => {
    const desk = createDesk();
    const { session, runtime: time, actor, stopping, link } = desk;
    const first = actor('replica-1');
    const term = await first.acquire('payments');
    await actor('worker-1').acquire('chat/shards/3');
    const drawn: string[] = [];
    let hasLeft = false;
    const watching = watchLive(session, 'chat', {
      size: { columns: 80, rows: 24 },
      draw: (lines) => drawn.push(lines.join('\n')),
      onResize: () => () => {},
      leave: () => {
        hasLeft = true;
      },
    });
    await time.advance(300);
    expect(drawn.at(-1)).toMatch(/chat\/shards {2}4 shards, 1 workers, 3 free/);
    await actor('worker-2').acquire('chat/shards/1');
    await time.advance(1_100);
    expect(drawn.at(-1)).toContain('1 shard: nobody -> worker-2');
    link.cut();
    await time.advance(3_000);
    expect(drawn.at(-1)).toContain('unsure: ');
    link.heal();
    await time.advance(10_000);
    expect(drawn.at(-1)).toContain('the store answers again');
    await first.release('payments', term);
    stopping.abort(new InterruptedError('SIGINT'));
    expect(await time.advanceUntil(watching)).toBe(130);
    expect(hasLeft).toBe(true);
    expect(time.pendingTimerCount).toBe(0);
  });

  it('shows a damaged record, of a shard too, which the map would show as free', async () => {
    const { session, runtime: time, store, actor, stopping } = createDesk();
    await actor('worker-1').acquire('chat/shards/3');
    store.overwriteRecord('chat/planner', 'hello');
    store.overwriteRecord('chat/shards/1', 'hello');
    const drawn: string[] = [];
    const watching = watchLive(session, 'chat', {
      size: { columns: 80, rows: 24 },
      draw: (lines) => drawn.push(lines.join('\n')),
      onResize: () => () => {},
      leave: () => {},
    });
    await time.advance(300);
    expect(drawn.at(-1)).toMatch(/^chat\/planner +unreadable: what stands there is no record/m);
    expect(drawn.at(-1)).toMatch(/^chat\/shards\/1 +unreadable/m);
    stopping.abort(new InterruptedError('SIGINT'));
    expect(await time.advanceUntil(watching)).toBe(130);
  });

  it('says that it is unsure while a look hangs, once what it shows has run out', async () => {
    const { session, runtime: time, actor, stopping, link } = createDesk();
    await actor('replica-1').acquire('payments', { ttlMs: 1_500 });
    const drawn: string[] = [];
    const watching = watchLive(session, 'payments', {
      size: { columns: 80, rows: 24 },
      draw: (lines) => drawn.push(lines.join('\n')),
      onResize: () => () => {},
      leave: () => {},
    });
    await time.advance(300);
    link.hang();
    await time.advance(1_500);
    expect(drawn.at(-1)).not.toContain('unsure');
    await time.advance(700);
    expect(drawn.at(-1)).toContain('unsure: the store has not answered since');
    link.heal();
    stopping.abort(new InterruptedError('SIGINT'));
    expect(await time.advanceUntil(watching)).toBe(130);
  });

  it('gives the terminal back whatever fails, also before the first look', async () => {
    const { session } = createDesk();
    const left: string[] = [];
    const screen = {
      size: { columns: 80, rows: 24 },
      draw: () => {},
      onResize: () => {
        throw new RangeError('no terminal');
      },
      leave: () => void left.push('screen'),
    };
    session.coordinator.watch = () => () => void left.push('watch');
    await expect(watchLive(session, 'chat', screen)).rejects.toThrow('no terminal');
    expect(left.at(-1)).toBe('screen');
    expect(left).toContain('watch');
  });

  it('fails if the store does not answer at first, with the terminal given back', async () => {
    const { session, link } = createDesk();
    link.cut();
    let hasLeft = false;
    const screen = {
      size: { columns: 80, rows: 24 },
      draw: () => {},
      onResize: () => () => {},
      leave: () => {
        hasLeft = true;
      },
    };
    await expect(watchLive(session, undefined, screen)).rejects.toMatchObject({
      code: 'TENURE_UNREACHABLE',
    });
    expect(hasLeft).toBe(true);
  });
});

describe('the screen', () => {
  const taken = '\u001b[?1049h\u001b[?25l\u001b[2J';
  const given = '\u001b[?25h\u001b[?1049l';

  function owner() {
    const told: string[] = [];
    const signals = new EventEmitter();
    const stdout = Object.assign(new EventEmitter(), { write: (text: string) => told.push(text) });
    const kill = (_: number, signal: string) => told.push(signal);
    const process = Object.assign(signals, { stdout, kill, pid: 7 }) as unknown as ScreenOwner;
    return { told, signals, process };
  }

  it("is the shell's as long as Ctrl-Z stops the process", () => {
    const { told, signals, process } = owner();
    const screen = takeScreen(process);
    signals.emit('SIGTSTP');
    screen.draw(['late']);
    expect(told).toEqual([taken, given, 'SIGSTOP']);
    signals.emit('SIGCONT');
    expect(told.at(-1)).toBe(taken);
    screen.draw(['again']);
    expect(told.at(-1)).toContain('again');
  });

  it('is given back before SIGQUIT ends the process', () => {
    const { told, signals, process } = owner();
    takeScreen(process);
    signals.emit('SIGQUIT');
    expect(told).toEqual([taken, given, 'SIGQUIT']);
    expect(signals.listenerCount('SIGQUIT')).toBe(0);
  });

  it('leaves nothing behind', () => {
    const { told, signals, process } = owner();
    takeScreen(process).leave();
    expect(told).toEqual([taken, given]);
    expect(signals.eventNames()).toEqual([]);
  });
});
