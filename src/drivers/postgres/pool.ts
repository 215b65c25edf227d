import { OptionError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { poolEnded } from '../connect-failure.js';
import { withDeadline } from '../deadline.js';
import type { PostgresClient, PostgresPool } from './client.js';
import { classifyPostgresError } from './errors.js';
import { addressOf, importPg, type OwnPool, validateUrl } from './pg-package.js';
import { PostgresSession } from './session.js';

export interface PoolSettings {
  readonly runtime: Runtime;
  /** The most connections of a pool of our own. */
  readonly maxConnections: number;
  /** Getting a client, a new connection included, and closing the pool take no longer than this. */
  readonly timeoutMs: number;
  /** The three limits the server keeps for each connection that we open. */
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
}

/** Where sessions come from: the user's pool, which is never closed here, or one of our own behind a URL. */
export class PostgresPoolHandle<Client extends PostgresClient> {
  readonly #settings: PoolSettings;
  readonly #url: string = '';
  readonly #users: PostgresPool<Client> | undefined;
  #own: Promise<PostgresPool<Client>> | undefined;
  readonly #sessions = new Set<PostgresSession<Client>>();

  /** Opens nothing yet. @throws {OptionError} if `source` is neither a PostgreSQL URL nor a pool. */
  constructor(source: string | PostgresPool<Client>, settings: PoolSettings) {
    this.#settings = settings;
    if (typeof source === 'string') this.#url = validateUrl(source);
    else this.#users = validatePool(source);
  }

  /** A client for one transaction. @throws {UnreachableError} and whatever else a server says to a newcomer. */
  async open(what: string): Promise<PostgresSession<Client>> {
    const { runtime, timeoutMs } = this.#settings;
    const pool = this.#users ?? (await this.#ownPool());
    try {
      const client = await withDeadline(runtime, timeoutMs, pool.connect(), (late) =>
        late.release(),
      );
      return new PostgresSession(client);
    } catch (error) {
      if (this.#users !== undefined)
        throw poolEnded(error, what) ?? classifyPostgresError(error, 'checkout', what);
      throw classifyPostgresError(error, 'checkout', what, { address: addressOf(this.#url) });
    }
  }

  /** Runs `use` with a session, which is ended at the latest when the handle is closed. */
  async withSession<Result>(
    what: string,
    use: (session: PostgresSession<Client>) => Promise<Result>,
  ): Promise<Result> {
    const session = await this.open(what);
    this.#sessions.add(session);
    try {
      return await use(session);
    } finally {
      session.end(false);
      this.#sessions.delete(session);
    }
  }

  /** Ends our own pool: transactions that are open may finish within the timeout, then their connections are closed. */
  async close(): Promise<void> {
    const pool = await this.#own?.catch(() => undefined);
    if (pool === undefined) return;
    const { runtime, timeoutMs } = this.#settings;
    const ended = (pool as unknown as OwnPool).end();
    await withDeadline(runtime, timeoutMs, ended).catch(() => {
      for (const session of this.#sessions) session.end(false);
    });
  }

  #ownPool(): Promise<PostgresPool<Client>> {
    this.#own ??= openPool(this.#url, this.#settings) as Promise<unknown> as Promise<
      PostgresPool<Client>
    >;
    return this.#own;
  }
}

async function openPool(url: string, settings: PoolSettings): Promise<OwnPool> {
  const pg = await importPg();
  const pool = new pg.Pool({
    connectionString: url,
    max: settings.maxConnections,
    connectionTimeoutMillis: settings.timeoutMs,
    idleTimeoutMillis: 10_000,
    statement_timeout: settings.statementTimeoutMs,
    lock_timeout: settings.lockTimeoutMs,
    idle_in_transaction_session_timeout: settings.idleInTransactionTimeoutMs,
    application_name: 'tenure',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  // The pool drops an idle client whose connection broke and opens another when asked; without a listener the event
  // would end the process.
  pool.on('error', () => {});
  return pool;
}

function validatePool<Client extends PostgresClient>(
  pool: PostgresPool<Client>,
): PostgresPool<Client> {
  const isUsable = typeof pool === 'object' && pool !== null && typeof pool.connect === 'function';
  // A client of `pg` connects too, and gives nobody a client.
  if (isUsable && !('connectionParameters' in pool)) return pool;
  throw new OptionError('pool', pool, 'is not a pool', 'pass a URL, or a Pool of the package pg');
}
