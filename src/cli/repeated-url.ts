import { parseHostList } from './host-list.js';
import { isMysqlUrl } from './migrate/mysql-url.js';
import { kindOf } from './store-kinds.js';
import { addressOf } from './store-url.js';

/** What stands for a password: whoever pastes the command puts it in. */
const placeholder = '***';

/** Parameters whose values are no secrets. */
const shownParameters = new Set([
  ...['schema', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'host', 'port', 'application_name'],
  ...['ca', 'cert', 'key', 'serverName', 'smallestTtlMs', 'largestTtlMs'],
]);
/** No text of a key or certificate, which may stand in the place of a path. */
const plainValue = /^(?!-)[\w./:+~@%-]{0,200}$/;

/**
 * The URL for a command to run next: the same store, as the same user and with the same options; `***` stands for the
 * password, and for the value of a parameter that nobody knows here.
 */
export function repeatedUrl(url: string): string {
  const address = addressOf(url);
  const list = address.startsWith('sqlite:') ? undefined : parseHostList(url);
  if (list === undefined || parseHostList(address) === undefined) return address;
  const [bare = ''] = address.split('?');
  const prefix = `${list.scheme}//`;
  const login = shownLogin(list.login, list.scheme);
  return `${prefix}${login}${bare.slice(prefix.length)}${shown(list.parameters)}`;
}

/** `redis://word@host` may be meant as a password, so a user that stands alone there is none. */
function shownLogin(login: string, scheme: string): string {
  if (login === '') return '';
  const colon = login.indexOf(':');
  const user = colon < 0 ? login : login.slice(0, colon);
  if (colon >= 0 && colon < login.length - 1) return `${user}:${placeholder}@`;
  return kindOf(scheme) === 'postgres' || isMysqlUrl(scheme) ? `${user}@` : `${placeholder}@`;
}

function shown(parameters: string): string {
  if (parameters === '') return '';
  const parts = parameters.slice(1).split('&');
  const written = parts.map((part) => {
    const [name = '', ...value] = part.split('=');
    const isShown = shownParameters.has(name) && plainValue.test(value.join('='));
    if (isShown) return part;
    return /^\w+$/.test(name) ? `${name}=${placeholder}` : placeholder;
  });
  return `?${written.join('&')}`;
}
