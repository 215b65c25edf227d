import { OptionError } from '../../errors/index.js';
import { urlFault } from '../url-fault.js';
import type { PostgresPool, PostgresResult } from './client.js';

/* What we call of the package `pg`; its own types would be needed by everybody who compiles against ours. */

export interface OwnPool extends PostgresPool {
  end(): Promise<void>;
  on(event: 'error', listener: () => void): unknown;
}

export interface PgClient {
  readonly processID?: number | null;
  connect(): Promise<void>;
  end(): Promise<void>;
  query<Row extends object>(text: string, values: unknown[]): Promise<PostgresResult<Row>>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(
    event: 'notification',
    listener: (message: { readonly channel: string; readonly payload?: string }) => void,
  ): unknown;
}

interface PgPackage {
  readonly Pool: new (config: object) => OwnPool;
  readonly Client: new (config: object) => PgClient;
}

/** @param load replaced in tests. */
export async function importPg(
  load: () => Promise<unknown> = () => import('pg'),
): Promise<PgPackage> {
  try {
    // The default export, since `pg` was CommonJS for most of version 8.
    return ((await load()) as { readonly default: PgPackage }).default;
  } catch {
    throw new OptionError(
      'url',
      'hidden',
      'needs the package pg, which cannot be loaded',
      'run `npm install pg`, or pass a pool of your own',
    );
  }
}

/** Host and port of a URL that was validated. */
export function addressOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname || 'localhost'}:${port || '5432'}`;
}

/** The URL is a secret, so an error shows none of it: a misplaced `@` or `#` moves the password anywhere. */
export function validateUrl(url: string): string {
  const remedy =
    'use postgres://host:port/database, with user:password and an @ before the host if it needs them, each part percent-encoded';
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  const isOne = protocol === 'postgres:' || protocol === 'postgresql:';
  const fault = isOne && new URL(url).host === '' ? undefined : urlFault(url);
  if (isOne && fault === undefined) return url;
  const why = fault === undefined ? '' : `: it ${fault.problem}`;
  throw new OptionError('url', 'hidden', `is not a PostgreSQL URL${why}`, remedy);
}
