import { type Known, requireKnown } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import { type Endpoint, parseEndpoint } from '../endpoint.js';
import { readTextFile } from '../text-file.js';

/** Where a cluster is, and how to speak to it. Certificates and the key are PEM texts. */
export interface EtcdLocation {
  readonly endpoints: readonly Endpoint[];
  readonly tls: EtcdTls | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
}

export interface EtcdTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly serverName?: string | undefined;
}

/** Each of `ca`, `cert` and `key` is a PEM text, or the path of a file that holds one. */
export interface EtcdTlsOptions {
  /** The authorities that may have signed the members' certificates. Default: those that Node trusts. */
  readonly ca?: string;
  /** The client's certificate, if the members ask for one. Needs `key`. */
  readonly cert?: string;
  /** The private key of that certificate. Needs `cert`. Not encrypted. */
  readonly key?: string;
  /** The name that the members' certificates are for. Default: the host that is connected to. */
  readonly serverName?: string;
}

const tlsKeys: Known<EtcdTlsOptions> = { ca: true, cert: true, key: true, serverName: true };
const tlsNames = Object.keys(tlsKeys);
const defaultPort = 2379;
const schemes = ['etcd:', 'etcds:', 'http:', 'https:'];
const form = /^([a-z]+:)\/\/(?:([^\s/?#]*)@)?([^\s/?#@]+)\/?(?:\?([^\s#]*))?$/i;
/* Errors show nothing of a URL: a password that is not encoded ends up in any part of it. */
const remedy =
  'use etcd://host:2379 or etcds://host (TLS), several hosts divided by commas, with user:password@ before them if need be';

/**
 * What `etcd://user:password@h1:2379,h2,h3` says, or a list of such URLs, one a member. `etcds` speaks TLS; its parameters
 * `ca`, `cert`, `key` and `serverName` are like the options of these names.
 *
 * @throws {OptionError}
 */
export function etcdLocation(
  location: string | URL | readonly string[],
  tlsOptions: EtcdTlsOptions | undefined,
): EtcdLocation {
  if (tlsOptions !== undefined) requireKnown('tls', tlsOptions, tlsKeys);
  const texts = Array.isArray(location) ? location : [location];
  const parts = texts.map((text) => parse(String(text)));
  const [first] = parts;
  if (first === undefined) throw new OptionError('url', undefined, 'names no endpoint', remedy);
  for (const { isTls, user, password } of parts) {
    const isSame = isTls === first.isTls && user === first.user && password === first.password;
    if (isSame) continue;
    throw new OptionError(
      'url',
      'hidden',
      'gives its endpoints different schemes or users',
      remedy,
    );
  }
  const tls = { ...first.tls, ...tlsOptions };
  return {
    endpoints: parts.flatMap(({ endpoints }) => endpoints),
    tls: first.isTls || tlsOptions !== undefined ? readTls(tls) : undefined,
    user: first.user,
    password: first.password,
  };
}

function parse(text: string) {
  const [, scheme = '', login, hosts = '', parameters = ''] = form.exec(text.trim()) ?? [];
  if (!schemes.includes(scheme.toLowerCase())) {
    throw new OptionError('url', 'hidden', 'is no URL of an etcd cluster', remedy);
  }
  const [user, password] = login === undefined ? [] : loginOf(login);
  return {
    isTls: /s:$/i.test(scheme),
    endpoints: hosts.split(',').map(endpointOf),
    tls: tlsParameters(new URLSearchParams(parameters)),
    user,
    password,
  };
}

function loginOf(login: string): string[] {
  const colon = login.indexOf(':');
  const parts = colon < 0 ? [login, ''] : [login.slice(0, colon), login.slice(colon + 1)];
  try {
    return parts.map(decodeURIComponent);
  } catch {
    throw new OptionError('url', 'hidden', 'has a malformed % in user or password', remedy);
  }
}

function endpointOf(text: string): Endpoint {
  const endpoint = parseEndpoint(text, defaultPort);
  if (endpoint !== undefined) return endpoint;
  throw new OptionError('url', 'hidden', 'names an endpoint that is none', remedy);
}

function tlsParameters(parameters: URLSearchParams): EtcdTlsOptions {
  for (const name of parameters.keys()) {
    if (tlsNames.includes(name)) continue;
    throw new OptionError(
      'url',
      'hidden',
      'has what is no parameter of an etcd URL',
      `use ${tlsNames.join(', ')}`,
    );
  }
  return Object.fromEntries(parameters);
}

function readTls({ ca, cert, key, serverName }: EtcdTlsOptions): EtcdTls {
  if ((cert === undefined) !== (key === undefined)) {
    throw new OptionError('cert', 'hidden', 'and key go together', 'pass both, or neither');
  }
  return { ca: pem('ca', ca), cert: pem('cert', cert), key: pem('key', key), serverName };
}

function pem(option: string, value: string | undefined): string | undefined {
  if (value === undefined || value.includes('-----BEGIN ')) return value;
  const remedy = 'pass a PEM text, or the path of a readable file that holds one';
  return readTextFile(option, value, remedy);
}
