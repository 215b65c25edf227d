import { resolve } from 'node:path';
import { OptionError } from '../../errors/index.js';
import { fileParameters } from '../url-fault.js';

/** Control characters and lone surrogates: they would break the lines of messages and logs. */
const notText = /[\p{Cc}\p{Cs}]/u;

/** `~/` and `~ana/`. A folder that is really called so can be named from where it stands: `./~/x.db`. */
const homeFolder = /^~[^/]*\//;
const pathFromHome =
  "pass the whole path, such as join(homedir(), 'tenure.db'), or ./~/tenure.db for a folder of that name";

const remedy = 'pass the path of a file on a local disk, or sqlite:PATH';

/**
 * The absolute path that a location names: a path, `sqlite:PATH` (taken as it is, nothing in it is decoded), or a URL
 * object `sqlite:` or `file:`.
 *
 * @throws {OptionError} if it is none, or names a database in memory, which no other process could see.
 */
export function sqlitePath(location: string | URL): string {
  const path = location instanceof URL ? pathOfUrl(location) : pathOfText(location);
  if (path === '' || path === ':memory:')
    throw new OptionError('path', path, 'is no file that processes could share', remedy);
  if (notText.test(path))
    throw new OptionError('path', path, 'holds characters that are not text', remedy);
  if (homeFolder.test(path))
    throw new OptionError(
      'path',
      path,
      'begins at a home folder, as only a shell reads it',
      pathFromHome,
    );
  if (path.endsWith('/')) throw new OptionError('path', path, 'names a folder', remedy);
  const parameters = isUrlLike(location) ? fileParameters(path) : undefined;
  if (parameters !== undefined)
    throw new OptionError('path', 'hidden', `has ${parameters}, and a file takes none`, remedy);
  return resolve(path);
}

/** Of a plain path nobody reads a part as parameters. */
function isUrlLike(location: string | URL): boolean {
  return location instanceof URL || location.startsWith('sqlite:');
}

function pathOfText(text: string): string {
  if (typeof text !== 'string') throw new OptionError('path', text, 'is not a path', remedy);
  const path = text.startsWith('sqlite:') ? text.slice('sqlite:'.length) : text;
  // `sqlite:///absolute` is how others write it; a host would be another machine.
  if (text.startsWith('sqlite://')) {
    if (!/^\/\/\/(?!\/)/.test(path)) throw new OptionError('path', text, 'names a host', remedy);
    return path.slice(2);
  }
  if (/^[a-z][a-z0-9+.-]+:/i.test(path))
    throw new OptionError('path', path, 'is the URL of something else', remedy);
  return path;
}

function pathOfUrl(url: URL): string {
  if (!['sqlite:', 'file:'].includes(url.protocol) || url.host !== '')
    throw new OptionError('path', url.href, 'is not the URL of a local file', remedy);
  if (url.search !== '' || url.hash !== '')
    throw new OptionError('path', url.href, 'has parameters, which are not read', remedy);
  try {
    return decodeURIComponent(url.pathname);
  } catch {
    throw new OptionError('path', url.href, 'has a % that encodes nothing', remedy);
  }
}
