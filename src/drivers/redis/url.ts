import { OptionError } from '../../errors/index.js';
import { type Endpoint, parseEndpoint } from '../endpoint.js';
import { parameterNames, urlFault } from '../url-fault.js';

/** What every node of a URL is asked with. */
export interface Login {
  readonly username?: string;
  readonly password?: string;
  readonly tls?: object;
}

/** A Redis URL, read. Holds credentials: never log it. */
export type RedisUrl =
  | {
      readonly topology: 'single';
      readonly place: Endpoint;
      readonly db: number;
      readonly login: Login;
    }
  | {
      readonly topology: 'sentinel';
      readonly sentinels: readonly Endpoint[];
      readonly masterName: string;
      readonly db: number;
      readonly login: Login;
    }
  | { readonly topology: 'cluster'; readonly nodes: readonly Endpoint[]; readonly login: Login };

const redisPort = 6379;
const sentinelPort = 26_379;
const scheme = /^(rediss?)(?:\+(sentinel|cluster))?:\/\//;

/**
 * Reads the URL here, since the clients take any parameter of a URL for an option, unsafe ones included.
 *
 * - `redis://[user:password@]host[:port][/database]`
 * - `redis+sentinel://[user:password@]host[:port],host[:port],.../master-name[/database]`: the hosts are sentinels
 * - `redis+cluster://[user:password@]host[:port],host[:port],...`: the hosts are some of the nodes
 *
 * `rediss` for TLS, to all of them. User and password are those of the nodes.
 *
 * @throws {OptionError} naming what is wrong, and nothing of the URL.
 */
export function parseRedisUrl(text: string): RedisUrl {
  const [start, protocol, topology] = scheme.exec(text) ?? [];
  if (start === undefined || topology === undefined) {
    const fault = urlFault(text);
    // An @ that is misplaced makes a host of the user, and a path of the password.
    if (fault !== undefined && /@/.test(fault.problem)) throw badUrl(fault.problem, 'single');
    return parseSingle(text);
  }
  const shape = topology as 'sentinel' | 'cluster';
  if (/[?#]/.test(text)) throw badUrl(unread(text), shape);
  const [authority = '', ...path] = text.slice(start.length).split('/');
  const at = authority.lastIndexOf('@');
  const login = {
    ...parseUser(authority.slice(0, Math.max(at, 0)), shape),
    ...(protocol === 'rediss' ? { tls: {} } : {}),
  };
  const port = shape === 'sentinel' ? sentinelPort : redisPort;
  const places = authority
    .slice(at + 1)
    .split(',')
    .map((host) => parseEndpoint(host, port) ?? refuse('names a host that is none', shape));
  if (shape === 'sentinel')
    return { topology: shape, sentinels: places, ...parseSentinelPath(path), login };
  if (path.join('/') !== '' && path.join('/') !== '0')
    throw badUrl('names a database, of which a cluster has only one', shape);
  return { topology: shape, nodes: places, login };
}

function parseSingle(text: string): RedisUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol))
    throw badUrl(notRedis(text), 'single');
  if (url.search !== '' || url.hash !== '') throw badUrl(unread(text), 'single');
  return {
    topology: 'single',
    place: {
      // The brackets of an IPv6 address belong to the URL, not to the address.
      host: url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost',
      port: url.port === '' ? redisPort : Number(url.port),
    },
    db: parseDatabase(url.pathname.replace(/^\//, ''), 'single'),
    login: {
      ...(url.username === '' ? {} : { username: decode(url.username, 'single') }),
      ...(url.password === '' ? {} : { password: decode(url.password, 'single') }),
      ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
    },
  };
}

function unread(text: string): string {
  return `has parameters (${parameterNames(text)}), which are not read`;
}

function notRedis(text: string): string {
  const fault = urlFault(text);
  return `is not a Redis URL${fault === undefined ? '' : `: it ${fault.problem}`}`;
}

function parseUser(text: string, shape: Shape): Login {
  const colon = text.indexOf(':');
  const username = decode(colon < 0 ? text : text.slice(0, colon), shape);
  const password = colon < 0 ? '' : decode(text.slice(colon + 1), shape);
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
}

function parseSentinelPath([name = '', database = '', ...rest]: readonly string[]): {
  masterName: string;
  db: number;
} {
  if (name === '') throw badUrl('does not name the master that the sentinels watch', 'sentinel');
  if (rest.length > 0) throw badUrl('has more after the database', 'sentinel');
  return { masterName: decode(name, 'sentinel'), db: parseDatabase(database, 'sentinel') };
}

function parseDatabase(text: string, shape: Shape): number {
  if (!/^\d{0,5}$/.test(text)) throw badUrl('names a database that is not a number', shape);
  return Number(text);
}

function decode(text: string, shape: Shape): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badUrl('has a % in its user or password that encodes nothing', shape);
  }
}

type Shape = RedisUrl['topology'];

const shapes: Readonly<Record<Shape, string>> = {
  single:
    'use redis://host:port/database, with user:password and an @ before the host if it needs them, each part percent-encoded; rediss:// for TLS',
  sentinel:
    'use redis+sentinel://host:port,host:port/master-name/database, with the hosts of the sentinels, and the user:password of the Redis servers with an @ before them if they need it, each part percent-encoded; rediss+sentinel:// for TLS',
  cluster:
    'use redis+cluster://host:port,host:port with some of its nodes, and user:password with an @ before them if they need it, each part percent-encoded; rediss+cluster:// for TLS',
};

function refuse(problem: string, shape: Shape): never {
  throw badUrl(problem, shape);
}

/** The URL is a secret, so an error shows none of it: a misplaced `@`, `/` or `#` moves the password anywhere. */
function badUrl(problem: string, shape: Shape): OptionError {
  return new OptionError('url', 'hidden', problem, shapes[shape]);
}
