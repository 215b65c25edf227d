import { ClosedError, StoreMisconfiguredError, type TenureError } from '../../errors/index.js';
import { Emitter, type Unsubscribe } from '../../events/index.js';
import { type Runtime, ServerClock } from '../../time/index.js';
import { poolEnded } from '../connect-failure.js';
import { withDeadline } from '../deadline.js';
import { runCheck } from './check.js';
import type { PostgresClient, PostgresPool, PostgresQueryable } from './client.js';
import { classifyPostgresError } from './errors.js';
import { refuseIfInside, refuseLeftOpen } from './left-open.js';
import {
  type Line,
  type LineEvents,
  type Lines,
  lineEventNames,
  type ServerCheck,
} from './lines.js';
import { PostgresSession } from './session.js';

export interface GuestLinesOptions {
  readonly runtime: Runtime;
  readonly check: ServerCheck;
}

/** Lines over the user's own pool or client, which is never closed here. */
export class GuestLines implements Lines {
  readonly address = 'PostgreSQL';
  readonly #source: PostgresPool | PostgresQueryable;
  readonly #options: GuestLinesOptions;
  readonly #events = new Emitter<LineEvents>(lineEventNames);
  readonly #clock = new ServerClock();
  /** Whether the server was asked who it is since something last went wrong. */
  #isChecked = false;
  #warnings: readonly string[] = [];
  readonly #taken = new Set<GuestLine>();
  #isClosed = false;

  constructor(source: PostgresPool | PostgresQueryable, options: GuestLinesOptions) {
    this.#source = source;
    this.#options = options;
  }

  on<Name extends keyof LineEvents>(
    name: Name,
    listener: (event: LineEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  async take(what: string, deadlineMs: number): Promise<Line> {
    this.#throwIfClosed();
    const line = await this.#open(what, deadlineMs);
    if (this.#isChecked) return line;
    try {
      const { check, runtime } = this.#options;
      this.#accept(await runCheck(line, check, runtime, deadlineMs));
      return line;
    } catch (error) {
      // A server that was asked and is not fit has answered, so its connection is as it was.
      if (error instanceof StoreMisconfiguredError) line.done();
      else line.abandon((error as TenureError).message);
      throw error;
    }
  }

  async #open(what: string, deadlineMs: number): Promise<GuestLine> {
    const { runtime } = this.#options;
    const session = isPool(this.#source)
      ? await checkOut(this.#source, runtime, deadlineMs, what)
      : undefined;
    const target = session?.client ?? (this.#source as PostgresQueryable);
    if (session === undefined) refuseTransaction(target);
    else await refuseLeftOpen(session, runtime, restMs(runtime, deadlineMs), what);
    const line = new GuestLine({ target, session, what }, this.#clock, runtime, (reason) => {
      this.#taken.delete(line);
      if (reason === undefined) return;
      this.#isChecked = false;
      this.#events.emit('disconnected', { address: this.address, reason });
    });
    this.#taken.add(line);
    if (!this.#isClosed) return line;
    line.done();
    throw new ClosedError('the PostgreSQL coordinator');
  }

  #accept(warnings: readonly string[]): void {
    if (this.#isChecked) return;
    this.#isChecked = true;
    this.#events.emit('connected', { address: this.address });
    const known = this.#warnings;
    this.#warnings = warnings;
    for (const message of warnings)
      if (!known.includes(message))
        this.#events.emit('warning', { address: this.address, message });
  }

  #throwIfClosed(): void {
    if (this.#isClosed) throw new ClosedError('the PostgreSQL coordinator');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#events.removeAll();
    for (const line of [...this.#taken]) line.abandon('it was closed here');
  }
}

interface Taken {
  readonly target: PostgresQueryable;
  /** Of a pool. */
  readonly session: PostgresSession<PostgresClient> | undefined;
  readonly what: string;
}

class GuestLine implements Line {
  readonly clock: ServerClock;
  readonly #target: PostgresQueryable;
  readonly #session: PostgresSession<PostgresClient> | undefined;
  readonly #what: string;
  readonly #runtime: Runtime;
  readonly #ended: (reason: string | undefined) => void;
  readonly #giving = new AbortController();
  #isOver = false;

  constructor(
    { target, session, what }: Taken,
    clock: ServerClock,
    runtime: Runtime,
    ended: (reason: string | undefined) => void,
  ) {
    this.#target = target;
    this.#session = session;
    this.#what = what;
    this.clock = clock;
    this.#runtime = runtime;
    this.#ended = ended;
  }

  async query<Row extends object>(text: string, values: unknown[], deadlineMs: number) {
    const timeoutMs = restMs(this.#runtime, deadlineMs);
    const given = new Promise<never>((_, reject) => {
      const lost = () => reject(new Error('the connection was given up'));
      this.#giving.signal.addEventListener('abort', lost, { once: true });
    });
    given.catch(() => {});
    const answer = this.#target.query<Row>(text, values);
    answer.catch(() => {});
    const result = await withDeadline(this.#runtime, timeoutMs, Promise.race([answer, given]));
    this.#refuseIfInside();
    return result;
  }

  /** What was granted there nobody else would see, and whoever uses the client next could take it back. */
  #refuseIfInside(): void {
    if (this.#session === undefined) return;
    try {
      refuseIfInside(this.#session, this.#what);
    } catch (error) {
      this.abandon((error as TenureError).message);
      throw error;
    }
  }

  done(): void {
    this.#end(undefined);
  }

  abandon(reason: string): void {
    this.#end(reason);
  }

  #end(reason: string | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#session?.end(reason === undefined);
    this.#giving.abort();
    this.#ended(reason);
  }
}

/** What is granted inside a transaction of the user's, nobody else sees, and a rollback takes it back. */
function refuseTransaction(client: PostgresQueryable): void {
  const status = client.getTransactionStatus?.() ?? 'I';
  if (status === 'I') return;
  throw new StoreMisconfiguredError(
    'the client that was passed in is inside a transaction, whose end decides over what is answered in it. Pass a pool, or a client that is used for nothing else.',
  );
}

/** A pool of the package `pg` has these counts, and a client of it has not. */
export function isPool(source: PostgresPool | PostgresQueryable): source is PostgresPool {
  const { connect, totalCount } = Object(source);
  return typeof connect === 'function' && typeof totalCount === 'number';
}

async function checkOut(
  pool: PostgresPool,
  runtime: Runtime,
  deadlineMs: number,
  what: string,
): Promise<PostgresSession<PostgresClient>> {
  try {
    const timeoutMs = restMs(runtime, deadlineMs);
    const client = await withDeadline(runtime, timeoutMs, pool.connect(), (late) => late.release());
    return new PostgresSession(client);
  } catch (error) {
    throw poolEnded(error, what) ?? classifyPostgresError(error, 'checkout', what);
  }
}

function restMs(runtime: Runtime, deadlineMs: number): number {
  return Math.max(0, deadlineMs - runtime.now().monotonicMs);
}
