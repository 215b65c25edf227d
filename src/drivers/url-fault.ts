const encode = 'write / ? # @ : % and spaces in a user or password as %2F %3F %23 %40 %3A %25 %20';

/** What is wrong with a text, and what to do; nothing of the text, any part of which may be a password. */
export interface UrlFault {
  readonly problem: string;
  readonly remedy: string;
}

/**
 * The first thing that keeps a text from being a URL with hosts, `scheme://user:password@host:port/path?parameters`; or
 * makes it another URL than was meant, since a character of a password ended its host part. `undefined`: nothing that
 * can be told from the text alone.
 */
export function urlFault(text: string): UrlFault | undefined {
  const [, scheme, slashes = '', rest = ''] =
    /^([a-z][\w+.-]*):(\/*)(.*)$/is.exec(text.trim()) ?? [];
  if (scheme === undefined)
    return { problem: 'has no scheme', remedy: 'begin with one, such as redis:// or sqlite:' };
  if (slashes.length !== 2)
    return {
      problem: `has ${slashes.length || 'no'} slash${slashes.length > 1 ? 'es' : ''} after its scheme`,
      remedy: `write ${scheme.toLowerCase()}://host`,
    };
  const [authority = ''] = /^[^/?#]*/.exec(rest) ?? [];
  const at = authority.lastIndexOf('@');
  const login = authority.slice(0, Math.max(at, 0));
  const afterwards = rest.slice(authority.length);
  if (/@/.test(login) || hasStrayAt(authority, afterwards))
    return {
      problem: 'has an @ where none belongs, as of a password that is not encoded',
      remedy: encode,
    };
  if (/%(?![\da-f]{2})/i.test(login))
    return { problem: 'has a % in its user or password that encodes nothing', remedy: encode };
  if (/\s/.test(rest)) return { problem: 'has a space', remedy: encode };
  if (/#/.test(afterwards))
    return { problem: 'has a #, which begins nothing here', remedy: encode };
  return hostFault(authority.slice(at + 1));
}

/** An `@` belongs into the value of a parameter too, unless all before it may be a user and the begin of a password. */
function hasStrayAt(authority: string, afterwards: string): boolean {
  const [, path = '', parameters = ''] = /^([^?]*)\??(.*)$/s.exec(afterwards) ?? [];
  const mayBeLogin = authority.includes(':') && !authority.includes('@');
  const isStray = (part: string) => part.includes('@') && (mayBeLogin || !/^[\w.-]+=/.test(part));
  return path.includes('@') || parameters.split('&').some(isStray);
}

function hostFault(hosts: string): UrlFault | undefined {
  for (const host of hosts.split(',')) {
    const [, port] = /^(?:\[[^\]]*\]|[^:]*):(.*)$/.exec(host) ?? [];
    if (port === undefined || port === '') continue;
    if (!/^\d+$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
      return {
        problem: 'has a port that is no number from 1 to 65535',
        remedy: 'correct it; an IPv6 address stands in brackets, and a password before an @',
      };
  }
  return undefined;
}

/**
 * The names of a URL's parameters, for a message; not what does not look like a name, and none at all beside a password,
 * of which they may be a part.
 */
export function parameterNames(text: string): string {
  if (text.includes('@')) return 'after its ?';
  const [, parameters = ''] = /\?([^#]*)/.exec(text) ?? [];
  const names = parameters.split('&').map((part) => part.split('=')[0] ?? '');
  return names.map((name) => (/^[\w.-]{1,40}$/.test(name) ? name : '...')).join(', ');
}

/**
 * The parameters at the end of a path, by their names, as other programs read them: `?mode=ro` would otherwise name a
 * new file, and what it asks for would be done without. A question mark elsewhere is one of a file's name.
 */
export function fileParameters(path: string): string | undefined {
  const [, text] = /\?([\w.-]+=[^/?]*)$/.exec(path) ?? [];
  if (text === undefined) return undefined;
  const names = text.split('&').map((part) => part.split('=')[0]);
  return `the parameter${names.length > 1 ? 's' : ''} ${names.join(', ')}`;
}
