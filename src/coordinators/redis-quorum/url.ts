import { parameterNames } from '../../drivers/url-fault.js';
import { OptionError } from '../../errors/index.js';

const scheme = /^(rediss?)\+quorum:\/\//;
const fewestNodes = 3;
const mostNodes = 15;

/**
 * The `redis://` URLs of the nodes: of `redis+quorum://[user:password@]host[:port],host[:port],.../database`, or a list of
 * them as it is. `rediss` for TLS, to all of them. Each holds the credentials: never log one.
 *
 * @throws {OptionError} naming what is wrong, and nothing of a URL.
 */
export function nodeUrls(urlOrUrls: string | URL | readonly (string | URL)[]): string[] {
  const urls =
    typeof urlOrUrls === 'string' || urlOrUrls instanceof URL
      ? expand(String(urlOrUrls))
      : requireList(urlOrUrls).map(String);
  if (urls.length < fewestNodes || urls.length > mostNodes)
    throw badUrls(`names ${urls.length} nodes, and a quorum has ${fewestNodes} to ${mostNodes}`);
  const places = new Set(urls.map(placeOf));
  if (places.size < urls.length) throw badUrls('names one node twice, which would have two votes');
  return urls;
}

function requireList(urls: readonly (string | URL)[]): readonly (string | URL)[] {
  if (Array.isArray(urls)) return urls;
  throw badUrls('is neither a URL nor a list of them');
}

function expand(text: string): string[] {
  const [start, protocol] = scheme.exec(text) ?? [];
  if (start === undefined) throw badUrls('is no URL of a quorum');
  if (/[?#]/.test(text))
    throw badUrls(`has parameters (${parameterNames(text)}), which are not read`);
  const rest = text.slice(start.length);
  const slash = rest.indexOf('/');
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  const database = slash < 0 ? '' : rest.slice(slash);
  const at = authority.lastIndexOf('@');
  const login = authority.slice(0, at + 1);
  const hosts = authority.slice(at + 1).split(',');
  if (hosts.includes('')) throw badUrls('has an empty place in its list of hosts');
  return hosts.map((host) => `${protocol}://${login}${host}${database}`);
}

/** Host and port, whatever stands around them. */
function placeOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^rediss?:$/.test(url.protocol))
    throw badUrls('names a node that is no Redis server');
  return `${url.hostname.toLowerCase() || 'localhost'}:${url.port || 6379}`;
}

/** URLs are secrets, so an error shows none of them: a misplaced `@`, `/` or `#` moves the password anywhere. */
function badUrls(problem: string): OptionError {
  const remedy =
    'use redis+quorum://host:port,host:port,host:port/database with three nodes or more, best an odd number, and user:password and an @ before the hosts if they need them, each part percent-encoded; rediss+quorum:// for TLS; or a list of redis:// URLs';
  return new OptionError('url', 'hidden', problem, remedy);
}
