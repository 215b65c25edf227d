import { parseEndpoint } from '../drivers/endpoint.js';

/** A URL that may name several hosts, each with a port of its own, which is no URL to the platform's parser. */
export interface HostList {
  /** With its colon: `etcd:`. */
  readonly scheme: string;
  /** As they were written: `h1`, `h1:2379`, `[::1]:2379`. At least one. */
  readonly hosts: readonly string[];
  /** User and password as they were written, or empty. A secret. */
  readonly login: string;
  /** With its slash, or empty. */
  readonly path: string;
  /** With its question mark, or empty. May hold a password. */
  readonly parameters: string;
}

/**
 * Strict, since what is not taken for a user and password here may be shown: a misplaced `@`, `#` or `/` puts the password
 * into another part of the text, and then it is no such URL at all.
 */
const form = /^([a-z][a-z\d+.-]*:)\/\/(?:([^\s/?#@]*)@)?([^\s/?#@]*)(\/[^\s?#@]*)?(\?[^\s#@]*)?$/i;

/** Which one a scheme means is for its driver. */
const anyPort = 1;

/** `undefined` if the text is no such URL. */
export function parseHostList(text: string): HostList | undefined {
  const [, scheme, login = '', authority, path = '', parameters = ''] =
    form.exec(text.trim()) ?? [];
  if (scheme === undefined || authority === undefined) return undefined;
  const hosts = authority.split(',');
  if (!hosts.every((host) => parseEndpoint(host, anyPort) !== undefined)) return undefined;
  return { scheme: scheme.toLowerCase(), login, hosts, path, parameters };
}
