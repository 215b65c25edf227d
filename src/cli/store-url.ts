import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { notText } from '../coordinators/names.js';
import { OptionError, redactSecrets } from '../errors/index.js';

/** One store within this process: for trials, and gone with it. */
export const memoryUrl = 'memory:';
const sqliteScheme = 'sqlite:';

export const urlForms = 'sqlite:PATH, redis://host:port, rediss://host:port';
/** What to write for leases. No memory: everybody who asks works with other processes, and refuses one. */
const leaseRemedy = `use ${urlForms}`;
/** What to write for a store that keeps messages too. */
export const messageRemedy = 'use memory:, redis://host:port or rediss://host:port';

/** The kinds of store that the URL of leases can name. */
export type StoreKind = 'memory' | 'sqlite' | 'redis';

const kinds: Readonly<Record<string, StoreKind>> = {
  'memory:': 'memory',
  'sqlite:': 'sqlite',
  'redis:': 'redis',
  'rediss:': 'redis',
};

/** @throws {OptionError} naming `source`, unless a store is known by such a URL. */
export function storeKindOf(url: string, source: string, remedy = leaseRemedy): StoreKind {
  const scheme = schemeOf(url, source, schemeless(url) ?? remedy);
  const kind = kinds[scheme];
  if (/^postgres(ql)?:$/.test(scheme)) {
    const problem = 'names PostgreSQL, which is a fence here, not a store of leases';
    throw new OptionError(source, addressOf(url), problem, remedy);
  }
  if (kind === undefined) throw unknownScheme(source, url, schemeless(url) ?? remedy);
  return kind;
}

/** The URL as it stands, if its form is good; what only a driver can judge is not looked at. @throws {OptionError} */
export function checkUrl(url: string, source: string, remedy = leaseRemedy): string {
  const kind = storeKindOf(url, source, remedy);
  if (kind === 'memory') checkMemoryUrl(url, source, remedy);
  else if (kind === 'sqlite') filePathOf(url, source);
  else if (new URL(url).host === '')
    throw new OptionError(source, addressOf(url), 'names no host', remedy);
  return url;
}

/** @throws {OptionError} if it is no URL at all. */
export function schemeOf(url: string, source: string, urlRemedy: string): string {
  if (URL.canParse(url)) return new URL(url).protocol;
  // A misplaced @ or # puts the password anywhere in the text, so none of it is shown.
  throw new OptionError(source, 'hidden', 'is not a URL', urlRemedy);
}

export function unknownScheme(source: string, url: string, urlRemedy: string): OptionError {
  return new OptionError(source, addressOf(url), 'names no store known here', urlRemedy);
}

/** A host with its port and nothing else, so that it may be shown. */
function schemeless(url: string): string | undefined {
  return /^([\w.-]+|\[[\da-f:.]+\]):\d{1,5}$/i.test(url) ? `use redis://${url}` : undefined;
}

/** A memory has no address: whoever writes one means another store. @throws {OptionError} */
export function checkMemoryUrl(url: string, source: string, remedy: string): void {
  if (new URL(url).href === memoryUrl) return;
  throw new OptionError(source, addressOf(url), 'names a memory elsewhere', remedy);
}

/**
 * The file of a `sqlite:` URL: all that follows the colon, as it stands. A relative path begins at the working folder, and
 * `sqlite:///path` is `/path`, as for the library; `~/` is the home folder here alone, since a person wrote it.
 *
 * @throws {OptionError} if it names no file.
 */
export function filePathOf(url: string, source: string): string {
  const written = url.trim().slice(sqliteScheme.length);
  const form = 'use sqlite:PATH, such as sqlite:/var/lib/tenure/tenure.db or sqlite:tenure.db';
  const complain = (problem: string) => new OptionError(source, url, problem, form);
  if (written === '') throw complain('names no file');
  if (written === ':memory:') {
    throw new OptionError(source, url, 'names a database that no other process sees', form);
  }
  if (notText.test(written)) throw complain('holds characters that are not text');
  const path = written.replace(/^\/\/(?=\/)/, '');
  if (path.startsWith('//')) throw complain('names a host, and a file is on this machine');
  if (path.endsWith('/')) throw complain('names a folder');
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : path;
}

/** As a config file in `folder` means it: its relative paths begin there. */
export function resolveUrlPath(url: string, folder: string): string {
  const path = url.startsWith(sqliteScheme) ? url.slice(sqliteScheme.length) : '/';
  return path === '' || isAbsolute(path) || path.startsWith('~/') || path.startsWith(':')
    ? url
    : `${sqliteScheme}${resolve(folder, path)}`;
}

/** Where the store is, without whom we are there: scheme, host, port and path of its URL. */
export function addressOf(url: string): string {
  // A path is shown as it stands: no password has a place in it.
  if (url.startsWith(sqliteScheme)) return redactSecrets(url);
  // A misplaced @ or # puts the password anywhere in the text, so none of it is shown.
  if (!URL.canParse(url)) return 'something that is not a URL';
  const { protocol, host, pathname } = new URL(url);
  if (host === '') return protocol;
  return `${protocol}//${host}${/^\/[\w-]+$/.test(pathname) ? pathname : ''}`;
}
