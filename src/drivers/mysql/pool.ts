import { OptionError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { poolEnded } from '../connect-failure.js';
import { withDeadline } from '../deadline.js';
import type { MysqlConnection, MysqlPool } from './client.js';
import { classifyMysqlError } from './errors.js';
import {
  addressOf,
  type CoreConnection,
  importMysql2,
  type OwnPool,
  validateUrl,
} from './mysql2-package.js';
import { MysqlSession } from './session.js';

export interface PoolSettings {
  readonly runtime: Runtime;
  /** The most connections of a pool of our own. */
  readonly maxConnections: number;
  /** Getting a connection, a new one included, and closing the pool take no longer than this. */
  readonly timeoutMs: number;
}

/** Where sessions come from: the user's pool, which is never closed here, or one of our own behind a URL. */
export class MysqlPoolHandle<Connection extends MysqlConnection> {
  readonly #settings: PoolSettings;
  readonly #url: string | undefined;
  #pool: Promise<MysqlPool<Connection>> | undefined;
  readonly #sessions = new Set<MysqlSession<Connection>>();
  /** Those of our own pool that are open. */
  readonly #own = new Set<CoreConnection>();
  #onIdle: () => void = () => {};

  /** Opens nothing yet. @throws {OptionError} if `source` is neither a MySQL URL nor a pool of promises. */
  constructor(source: string | MysqlPool<Connection>, settings: PoolSettings) {
    this.#settings = settings;
    if (typeof source === 'string') this.#url = validateUrl(source);
    else this.#pool = Promise.resolve(validatePool(source));
  }

  /** Runs `use` with a session of its own, which is ended afterwards: closed unless `use` ended it in good order. */
  async withSession<Result>(
    what: string,
    use: (session: MysqlSession<Connection>) => Promise<Result>,
  ): Promise<Result> {
    const session = await this.#checkOut(what);
    this.#sessions.add(session);
    try {
      return await use(session);
    } finally {
      session.end(false);
      this.#sessions.delete(session);
      if (this.#sessions.size === 0) this.#onIdle();
    }
  }

  /** Ends our own pool: transactions that are open may finish within the timeout, then their connections are closed. */
  async close(): Promise<void> {
    if (this.#url === undefined || this.#pool === undefined) return;
    const pool = (await this.#pool.catch(() => undefined)) as unknown as OwnPool | undefined;
    if (pool === undefined) return;
    const { runtime, timeoutMs } = this.#settings;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      if (this.#sessions.size === 0) resolve();
    });
    const ended = idle.then(() => pool.end());
    await withDeadline(runtime, timeoutMs, ended).catch(() => {});
    for (const session of this.#sessions) session.end(false);
    for (const connection of this.#own) {
      connection.destroy();
      // Which only says goodbye: a server that is frozen would keep the socket open.
      connection.stream?.destroy?.();
    }
    // Ends its timer, and fails what still waits for a connection.
    if (this.#own.size > 0) await withDeadline(runtime, timeoutMs, pool.end()).catch(() => {});
  }

  async #checkOut(what: string): Promise<MysqlSession<Connection>> {
    const { runtime, timeoutMs } = this.#settings;
    const pool = await this.#open();
    try {
      const checkout = pool.getConnection();
      return new MysqlSession(
        await withDeadline(runtime, timeoutMs, checkout, (late) => late.release()),
      );
    } catch (error) {
      const url = this.#url;
      if (url === undefined)
        throw poolEnded(error, what) ?? classifyMysqlError(error, 'connect', what);
      throw classifyMysqlError(error, 'connect', what, addressOf(url));
    }
  }

  async #open(): Promise<MysqlPool<Connection>> {
    this.#pool ??= this.#create(this.#url ?? '') as Promise<unknown> as Promise<
      MysqlPool<Connection>
    >;
    return await this.#pool;
  }

  async #create(uri: string): Promise<OwnPool> {
    const { createPool } = await importMysql2();
    const pool = openPool(createPool, {
      uri,
      connectionLimit: this.#settings.maxConnections,
      connectTimeout: this.#settings.timeoutMs,
      idleTimeout: 10_000,
      maxIdle: 1,
      keepAliveInitialDelay: 10_000,
      connectAttributes: { program_name: 'tenure' },
    });
    pool.on('connection', (connection) => {
      this.#own.add(connection);
      for (const event of ['end', 'error'] as const)
        connection.once(event, () => this.#own.delete(connection));
    });
    return pool;
  }
}

/** The client library reads the URL, and may find what is no `ssl` in it; its words could show the rest. */
function openPool(createPool: (config: object) => OwnPool, config: object): OwnPool {
  try {
    return createPool(config);
  } catch {
    const remedy = 'correct its parameters, or pass a pool of your own';
    throw new OptionError('url', 'hidden', 'was not taken by the package mysql2', remedy);
  }
}

function validatePool<Connection extends MysqlConnection>(
  pool: MysqlPool<Connection>,
): MysqlPool<Connection> {
  const { getConnection, promise } = Object(pool);
  if (typeof getConnection === 'function' && typeof promise !== 'function') return pool;
  const remedy = 'pass a URL, or a pool of mysql2/promise (`pool.promise()` of one with callbacks)';
  throw new OptionError('pool', pool, 'is not a pool of promises', remedy);
}
