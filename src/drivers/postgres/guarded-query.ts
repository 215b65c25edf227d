import type { PostgresClient, PostgresResult } from './client.js';
import type { PreparedGuard } from './prepared-guard.js';
import { isInside, type Settle, type Submittable, type Wire, type WiredClient } from './wire.js';

/** One statement, as `client.query` takes it. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[] | undefined;
  /** Under which the session is to keep it prepared. */
  readonly name: string | undefined;
}

/**
 * How far it has come: not sent; sent; let pass by the guard; executed; committed. A failure belongs to the step after the
 * stage, and up to `executed` the server has committed nothing if it tells of one.
 */
export type Stage = 'waiting' | 'sent' | 'admitted' | 'executed' | 'committed';

/** It was not sent, since it cannot be sent so. */
export class UnsuitedError extends Error {
  constructor() {
    super('this statement takes more than one message');
  }
}

/**
 * What goes out in one write of an empty socket lies with the system: no process that freezes then keeps a part of it back.
 * Of what is larger, three messages are not the cost.
 */
const mostBytes = 16_384;

/** In a name of its own, since what the guard executes takes the unnamed one. */
const portal = 'tenure';

/** The slice of the `Query` of `pg` that is called here: it puts values into the protocol, and rows into a result. */
interface PgQuery {
  text: string | undefined;
  name: string | undefined;
  portal: string;
  callback: Settle<PostgresResult<object>> | undefined;
  /** Sends the frames of an extended query. */
  prepare(connection: object): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: unknown): void;
  handleReadyForQuery(connection: unknown): void;
  handleError(error: Error, connection: unknown): void;
}
type PgQueryClass = new (text: string, values: readonly unknown[] | undefined) => PgQuery;

/** A client's connection, with what `Query` keeps there. */
interface PgConnection extends Wire {
  readonly parsedStatements?: Readonly<Record<string, string>>;
}

export interface GuardedQuery extends Submittable {
  callback: Settle<PostgresResult<object>> | undefined;
  readonly stage: Stage;
  /** Of the values, when they could not be put into the protocol. */
  readonly valuesError: Error | undefined;
}

type GuardedQueryClass = new (
  client: WiredClient,
  guard: PreparedGuard,
  statement: Statement,
) => GuardedQuery;

const classes = new WeakMap<PgQueryClass, GuardedQueryClass>();

/** `undefined`: it is not a client of `pg`. */
export function guardedQueryClass(client: PostgresClient): GuardedQueryClass | undefined {
  const { Query } = client.constructor as unknown as { readonly Query?: PgQueryClass };
  if (typeof Query?.prototype?.prepare !== 'function') return undefined;
  const kept = classes.get(Query) ?? guarded(Query);
  classes.set(Query, kept);
  return kept;
}

/** Takes what would go out on a connection. */
interface Recorder {
  readonly connection: object;
  readonly frames: Buffer[];
}

const recorders = new WeakMap<PgConnection, Recorder>();

function recorderOf(connection: PgConnection): Recorder {
  const kept = recorders.get(connection);
  if (kept !== undefined) return kept;
  const frames: Buffer[] = [];
  const write = (frame: Buffer) => frames.push(frame);
  const recorder = {
    frames,
    connection: Object.create(connection, { stream: { value: { writable: true, write } } }),
  };
  recorders.set(connection, recorder);
  return recorder;
}

const parseKind = 'P'.charCodeAt(0);
const bindKinds = Buffer.from('BDES');

/** Whether they are Bind, Describe, Execute and Sync, behind a Parse or none. */
function areOfOneStatement(frames: readonly Buffer[]): boolean {
  const start = frames.length - bindKinds.length;
  if (start !== 0 && !(start === 1 && frames[0]?.[0] === parseKind)) return false;
  return bindKinds.every((kind, index) => frames[start + index]?.[0] === kind);
}

function guarded(Query: PgQueryClass): GuardedQueryClass {
  return class extends Query implements GuardedQuery {
    stage: Stage = 'waiting';
    valuesError: Error | undefined;
    readonly #client: WiredClient;
    readonly #guard: PreparedGuard;
    readonly #statement: Statement;
    #passedCount = 0;
    #isBinding = false;

    constructor(client: WiredClient, guard: PreparedGuard, statement: Statement) {
      super(statement.text, statement.values);
      // Whatever stands between, and sends a copy of what it takes for a query, has no text to send, and so nothing unguarded.
      this.text = undefined;
      this.portal = portal;
      this.#client = client;
      this.#guard = guard;
      this.#statement = statement;
    }

    submit(connection: PgConnection): Error | null {
      const message = this.#messageFor(connection);
      if (message instanceof Error) return message;
      this.stage = 'sent';
      connection.stream.write(message);
      return null;
    }

    /**
     * All that is long comes before the guard, so that no lock is held while it is on its way. A statement that reads takes
     * its snapshot there: whoever asks knows that the token was installed before.
     */
    #messageFor(connection: PgConnection): Buffer | Error {
      const { name, text } = this.#statement;
      const isIdle = connection.stream.writableLength === 0;
      // What has to be prepared first is prepared, and kept account of, by `pg` itself.
      const isReady = name === undefined || connection.parsedStatements?.[name] === text;
      if (isInside(this.#client) || !isIdle || !isReady) return new UnsuitedError();
      const frames = this.#framesFor(connection);
      if (this.valuesError !== undefined) return this.valuesError;
      const message = areOfOneStatement(frames) && this.#guard.within(connection, frames);
      return message && message.length <= mostBytes ? message : new UnsuitedError();
    }

    /** Parse, Bind, Describe, Execute, Sync: as `pg` would send them. */
    #framesFor(connection: PgConnection): Buffer[] {
      const recorder = recorderOf(connection);
      this.text = this.#statement.text;
      this.name = this.#statement.name;
      this.#isBinding = true;
      this.prepare(recorder.connection);
      this.#isBinding = false;
      return recorder.frames.splice(0);
    }

    override handleDataRow(message: unknown): void {
      if (this.stage === 'admitted') super.handleDataRow(message);
    }

    override handleCommandComplete(message: unknown, connection: Wire): void {
      if (this.stage === 'admitted') {
        super.handleCommandComplete(message, connection);
        this.stage = 'executed';
        return;
      }
      this.#passedCount += 1;
      if (this.#passedCount < this.#guard.count) return;
      this.stage = 'admitted';
      this.#guard.statements.keep(connection);
    }

    override handleReadyForQuery(connection: unknown): void {
      this.stage = 'committed';
      super.handleReadyForQuery(connection);
    }

    override handleError(error: Error, connection: unknown): void {
      if (this.#isBinding) this.valuesError = error;
      else super.handleError(error, connection);
    }
  };
}
