import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { notText } from '../coordinators/names.js';
import { fileParameters, urlFault } from '../drivers/url-fault.js';
import { nearest } from '../errors/checks.js';
import { OptionError, redactSecrets } from '../errors/index.js';
import { parseHostList } from './host-list.js';
import { mysqlSchemes } from './migrate/mysql-url.js';
import { schemaParameter } from './postgres-url.js';
import {
  kindOf,
  listKindOf,
  mayListHosts,
  type SharedKind,
  type StoreKind,
  schemes,
  sharedForms,
} from './store-kinds.js';

/** One store within this process: for trials, and gone with it. */
export const memoryUrl = 'memory:';
const sqliteScheme = 'sqlite:';

/** All that names are kept in by several processes. */
export const urlForms = Object.values(sharedForms).join(', ');
/** What to write for leases. No memory: everybody who asks works with other processes, and refuses one. */
const leaseRemedy = `use ${urlForms}`;
/** What to write for a store that keeps messages too. */
export const messageRemedy = `use memory:, redis://host:port, rediss://host:port or ${sharedForms.sentinel}`;

/** @throws {OptionError} naming `source`, unless a store is known by such a URL. */
export function storeKindOf(url: string, source: string, remedy = leaseRemedy): StoreKind {
  const listed = listKindOf(url);
  if (listed !== undefined) return listed;
  const scheme = schemeOf(url, source, schemeless(url) ?? remedy);
  const kind = kindOf(scheme);
  if (kind === undefined) throw unknownScheme(source, url, schemeless(url) ?? remedy);
  return kind;
}

/** The URL as it stands, if its form is good; what only a driver can judge is not looked at. @throws {OptionError} */
export function checkUrl(url: string, source: string, remedy = leaseRemedy): string {
  const kind = storeKindOf(url, source, remedy);
  if (kind === 'memory') checkMemoryUrl(url, source, remedy);
  else if (kind === 'sqlite') filePathOf(url, source);
  else if (mayListHosts(kind)) checkHostList(url, kind, source);
  else checkHost(url, source, kind, remedy);
  return url;
}

/** One host; none at all is `postgres:///app?host=/run/postgresql`. */
function checkHost(url: string, source: string, kind: StoreKind, remedy: string): void {
  const { host, protocol } = new URL(url);
  if (host === '' && kind === 'postgres') return;
  // It may be another URL than was meant: the host of `redis://u:1/2@h` is u.
  const fault = url.trim().length === protocol.length ? undefined : urlFault(url);
  if (fault !== undefined) throw new OptionError(source, 'hidden', fault.problem, fault.remedy);
  if (host === '') throw new OptionError(source, addressOf(url), 'names no host', remedy);
}

function checkHostList(url: string, kind: SharedKind, source: string): void {
  const fault = urlFault(url);
  if (parseHostList(url) !== undefined && fault === undefined) return;
  const place = fault === undefined ? '' : `: it ${fault.problem}`;
  const problem = `is not a list of hosts, such as this store has${place}`;
  const usual =
    'with user:password and an @ before the hosts if it needs them, each part percent-encoded';
  const remedy = `use ${sharedForms[kind]}, ${usual}`;
  throw new OptionError(
    source,
    'hidden',
    problem,
    fault === undefined ? remedy : `${fault.remedy}; ${remedy}`,
  );
}

/** @throws {OptionError} if it is no URL at all. */
export function schemeOf(url: string, source: string, urlRemedy: string): string {
  if (URL.canParse(url)) return new URL(url).protocol;
  // A misplaced @ or # puts the password anywhere in the text, so none of it is shown.
  const fault = url.trim() === '' ? undefined : urlFault(url);
  const problem = fault === undefined ? 'is not a URL' : `is not a URL: it ${fault.problem}`;
  const isPath = fault?.problem === 'has no scheme' && /^[./~]/.test(url);
  const remedy = isPath ? 'for a file, use sqlite:PATH' : fault?.remedy;
  throw new OptionError(
    source,
    'hidden',
    problem,
    remedy === undefined ? urlRemedy : `${remedy}; ${urlRemedy}`,
  );
}

export function unknownScheme(source: string, url: string, urlRemedy: string): OptionError {
  if (mysqlSchemes.test(url)) {
    const problem = 'names a store that keeps fences alone';
    const remedy = `only tenure migrate takes it; ${urlRemedy}`;
    return new OptionError(source, addressOf(url), problem, remedy);
  }
  const meant = nearest(url.split(':')[0] ?? '', schemes);
  const remedy = meant === undefined ? urlRemedy : `did you mean ${meant}:? ${urlRemedy}`;
  return new OptionError(source, addressOf(url), 'names no store known here', remedy);
}

/** A host with its port and nothing else, so that it may be shown. */
function schemeless(url: string): string | undefined {
  const [match, port] = /^(?:[\w.-]+|\[[\da-f:.]+\]):(\d{1,5})$/i.exec(url) ?? [];
  return match === undefined ? undefined : `use ${schemeByPort[port ?? ''] ?? 'redis'}://${url}`;
}

/** What listens there by default. */
const schemeByPort: Readonly<Record<string, string>> = {
  2379: 'etcd',
  2181: 'zookeeper',
  5432: 'postgres',
};

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
  if (/^~[^/]+\//.test(path))
    throw complain("begins at somebody's home folder, of which only ~/ is known");
  if (path.endsWith('/')) throw complain('names a folder');
  const parameters = fileParameters(path);
  if (parameters !== undefined)
    throw new OptionError(source, 'hidden', `has ${parameters}, and a file takes none`, form);
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : path;
}

/** As a config file in `folder` means it: its relative paths begin there. */
export function resolveUrlPath(url: string, folder: string): string {
  const path = url.startsWith(sqliteScheme) ? url.slice(sqliteScheme.length) : '/';
  return path === '' || isAbsolute(path) || path.startsWith('~/') || path.startsWith(':')
    ? url
    : `${sqliteScheme}${resolve(folder, path)}`;
}

const plainPath = /^(?:\/[\w.-]+)+$/;

/** Where the store is, without whom we are there: scheme, hosts, ports and path of its URL, and the schema in it. */
export function addressOf(url: string): string {
  // A path is shown as it stands: no password has a place in it.
  if (url.startsWith(sqliteScheme)) return redactSecrets(url);
  if (listKindOf(url) !== undefined) return listAddressOf(url);
  // A misplaced @ or # puts the password anywhere in the text, so none of it is shown.
  if (!URL.canParse(url)) return notShown;
  const { protocol, host, pathname, searchParams } = new URL(url);
  if (host === '') return protocol;
  const schema = kindOf(protocol) === 'postgres' ? searchParams.get(schemaParameter) : null;
  const parameter = /^\w+$/.test(schema ?? '') ? `?${schemaParameter}=${schema}` : '';
  return `${protocol}//${host}${plainPath.test(pathname) ? pathname : ''}${parameter}`;
}

const numbers = /^\?\w+=\d+(?:&\w+=\d+)*$/;
const notShown = 'something that is not a URL';

function listAddressOf(url: string): string {
  const list = parseHostList(url);
  if (list === undefined) return notShown;
  const { scheme, hosts, path, parameters } = list;
  const plain = plainPath.test(path) ? path : '';
  // Numbers are no secrets, and the next command needs them as well.
  return `${scheme}//${hosts.join(',')}${plain}${numbers.test(parameters) ? parameters : ''}`;
}
