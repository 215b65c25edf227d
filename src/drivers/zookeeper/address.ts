import { OptionError } from '../../errors/index.js';
import { type Endpoint, parseEndpoint } from '../endpoint.js';

/** Where an ensemble is, and who we are there. */
export interface ZooKeeperAddress {
  readonly servers: readonly Endpoint[];
  /** The path below which everything stands: empty, or `/a/b` without a slash at its end. */
  readonly chroot: string;
  /** `user:password`: holds the password, never log it. */
  readonly login: string | undefined;
  /** The session time-outs that the servers grant, in ms, if the URL tells. */
  readonly smallestTtlMs: number | undefined;
  readonly largestTtlMs: number | undefined;
}

const usualPort = 2181;
const form =
  'write it as zookeeper://host:2181,host2,host3/path, with user:password and an @ before the hosts if they need them, and / @ : ? # % in a user or a password as %2F %40 %3A %3F %23 %25';
const withoutTls =
  'use zookeeper:// and a port without TLS (clientPort) in a network that nobody else reads, or a tunnel, such as stunnel, on this machine';
/** What stands in the messages for a text of a URL: any part of it may be one of a password that was not encoded. */
const hidden = 'hidden';
const parameters = 'use ?smallestTtlMs=4000&largestTtlMs=40000, in milliseconds, or none';
const tlsPattern = /^(?:zookeepers|zookeeper\+(?:ssl|tls)):/i;
const urlPattern = /^zookeeper:\/\/(?:([^/@]*)@)?([^/@?#]+)(\/[^?#@]*)?(?:\?([^#@]*))?$/;

/** @throws {OptionError} if it is no URL of an ensemble; the message holds no password. */
export function parseZooKeeperUrl(url: string | URL): ZooKeeperAddress {
  const text = String(url);
  const [, userinfo, hosts, path = '', query = ''] = urlPattern.exec(text) ?? [];
  if (tlsPattern.test(text)) throw tlsError();
  if (hosts === undefined) throw new OptionError('url', hidden, 'is no URL of ZooKeeper', form);
  return {
    servers: hosts.split(',').map((host, index) => parseHost(host, index + 1)),
    chroot: parseChroot(path),
    login: userinfo === undefined ? undefined : parseLogin(userinfo),
    ...parseQuery(query),
  };
}

function parseQuery(query: string): Pick<ZooKeeperAddress, 'smallestTtlMs' | 'largestTtlMs'> {
  const known = new Map<string, number>();
  for (const [key, value] of new URLSearchParams(query)) {
    if (/^(?:tls|ssl|ca|cert)$/i.test(key)) throw tlsError();
    if (!['smallestTtlMs', 'largestTtlMs'].includes(key) || !/^\d{1,9}$/.test(value))
      throw new OptionError('url', hidden, 'has a parameter that is none', parameters);
    known.set(key, Number(value));
  }
  return { smallestTtlMs: known.get('smallestTtlMs'), largestTtlMs: known.get('largestTtlMs') };
}

function tlsError(): OptionError {
  return new OptionError(
    'url',
    hidden,
    'asks for TLS, which tenure does not speak to ZooKeeper',
    withoutTls,
  );
}

function parseHost(text: string, place: number): Endpoint {
  const server = parseEndpoint(text, usualPort);
  if (server !== undefined) return server;
  throw new OptionError('url', hidden, `names no host at place ${place} of its list`, form);
}

function parseChroot(path: string): string {
  const decoded = decode(path).replace(/\/+$/, '');
  const segments = decoded.split('/').slice(1);
  const isBad = segments.some(
    (segment) =>
      segment === '' || segment === '.' || segment === '..' || /[\p{Cc}\p{Cs}]/u.test(segment),
  );
  if (!isBad) return decoded;
  throw new OptionError('url', hidden, 'has a path that ZooKeeper refuses', form);
}

function parseLogin(userinfo: string): string {
  const [user = '', ...rest] = userinfo.split(':');
  if (user === '' || rest.length === 0)
    throw new OptionError('url', hidden, 'has no user and password before its @', form);
  return `${decode(user)}:${decode(rest.join(':'))}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new OptionError('url', hidden, 'has a % that begins no byte', form);
  }
}
