/** A URL that may name several hosts, each with a port of its own, which is no URL to the platform's parser. */
export interface HostList {
  /** With its colon: `etcd:`. */
  readonly scheme: string;
  /** As they were written: `h1`, `h1:2379`, `[::1]:2379`. At least one. */
  readonly hosts: readonly string[];
  /** With its slash, or empty. */
  readonly path: string;
  /** With its question mark, or empty. May hold a password. */
  readonly parameters: string;
}

/**
 * Strict, since what is not taken for a user and password here may be shown: a misplaced `@`, `#` or `/` puts the password
 * into another part of the text, and then it is no such URL at all.
 */
const form = /^([a-z][a-z\d+.-]*:)\/\/(?:[^\s/?#@]*@)?([^\s/?#@]*)(\/[^\s?#@]*)?(\?[^\s#@]*)?$/i;
const hostForm = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?$/i;

/** `undefined` if the text is no such URL. */
export function parseHostList(text: string): HostList | undefined {
  const [, scheme, authority, path = '', parameters = ''] = form.exec(text.trim()) ?? [];
  if (scheme === undefined || authority === undefined) return undefined;
  const hosts = authority.split(',');
  if (!hosts.every(isHost)) return undefined;
  return { scheme: scheme.toLowerCase(), hosts, path, parameters };
}

function isHost(text: string): boolean {
  const match = hostForm.exec(text);
  const port = Number(match?.[1] ?? 1);
  return match !== null && port >= 1 && port <= 65_535;
}
