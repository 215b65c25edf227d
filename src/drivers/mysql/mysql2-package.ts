import { OptionError } from '../../errors/index.js';
import { urlFault } from '../url-fault.js';
import type { MysqlPool } from './client.js';

/* What we call of the package `mysql2`; its own types would be needed by everybody who compiles against ours. */

/** A connection as the pool's `connection` event has it. */
export interface CoreConnection {
  destroy(): void;
  readonly stream?: { destroy?(): void };
  once(event: 'end' | 'error', listener: () => void): unknown;
}

export interface OwnPool extends MysqlPool {
  end(): Promise<void>;
  on(event: 'connection', listener: (connection: CoreConnection) => void): unknown;
}

interface Mysql2Package {
  createPool(config: object): OwnPool;
}

/** @param load replaced in tests. */
export async function importMysql2(
  load: () => Promise<unknown> = () => import('mysql2/promise'),
): Promise<Mysql2Package> {
  try {
    return ((await load()) as { readonly default: Mysql2Package }).default;
  } catch {
    throw new OptionError(
      'url',
      'hidden',
      'needs the package mysql2, which cannot be loaded',
      'run `npm install mysql2`, or pass a pool of your own',
    );
  }
}

/** With these one question could become several, by whatever gets into it. */
const refusedParameters = ['multipleStatements', 'flags'];

const usualUrl =
  'use mysql://host:port/database, with user:password and an @ before the host if it needs them, each part percent-encoded';

/** Host and port of a URL that was validated. */
export function addressOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname || 'localhost'}:${port || '3306'}`;
}

/** The URL is a secret, so an error shows none of it: a misplaced `@` or `#` moves the password anywhere. */
export function validateUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isOne = parsed !== undefined && ['mysql:', 'mariadb:'].includes(parsed.protocol);
  const fault = urlFault(url);
  if (!isOne || fault !== undefined) {
    const why = fault === undefined ? '' : `: it ${fault.problem}`;
    throw new OptionError('url', 'hidden', `is not a MySQL URL${why}`, usualUrl);
  }
  for (const parameter of refusedParameters) {
    if (!parsed.searchParams.has(parameter)) continue;
    const remedy = 'leave it out, or pass a pool of your own';
    throw new OptionError('url', 'hidden', `sets ${parameter}, which is not taken here`, remedy);
  }
  return url;
}
