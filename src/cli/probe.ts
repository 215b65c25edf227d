import { type HostList, parseHostList } from './host-list.js';
import { isMysqlUrl } from './migrate/mysql-url.js';
import { quoted } from './next-command.js';
import { withSchema } from './postgres-url.js';
import { kindOf } from './store-kinds.js';

/** Several commands stand below each other, behind `next:`, and can be pasted as they are. */
const nextLine = `;\n${' '.repeat('  next:    '.length)}`;

/** A command that everybody who runs such a server has at hand; it asks for the password. @param url see `repeatedUrl`. */
export function probeOf(url: string): string {
  if (url.startsWith('sqlite:')) return `ls -l ${quoted(url.slice('sqlite:'.length))}`;
  const list = parseHostList(url);
  if (list === undefined) return 'the same command again';
  if (isMysqlUrl(url)) return mysqlProbe(list);
  switch (kindOf(list.scheme)) {
    case 'postgres':
      return `psql ${quoted(withSchema(withoutPassword(url), undefined))} -c 'select 1'`;
    case 'etcd':
      return `ETCDCTL_API=3 etcdctl --endpoints=${etcdEndpoints(list)}${etcdOptions(list)} endpoint health`;
    case 'zookeeper':
      return eachHost(list, 2181, (host, port) => `echo srvr | nc ${host} ${port}`);
    case 'sentinel': {
      const master = list.path.slice(1);
      const ask = `sentinel get-master-addr-by-name ${quoted(master)}`;
      return eachHost(list, 26_379, (host, port) => `redis-cli -h ${host} -p ${port} ${ask}`);
    }
    case 'cluster':
      return `${redisCliOf(list, list.hosts[0] ?? '')} cluster info`;
    case 'quorum':
      return list.hosts.map((host) => `${redisCliOf(list, host)} ping`).join(nextLine);
    default:
      return `${redisCli(url)} ping`;
  }
}

function mysqlProbe(list: HostList): string {
  const [host, port] = splitPort(list.hosts[0] ?? '', 3306);
  const user = userOf(list);
  const asUser = user === '' ? '' : ` -u ${quoted(user)}`;
  // Without a value it asks for the password.
  const asking = list.login.includes(':') ? ' -p' : '';
  return `mariadb -h ${bareHost(host)} -P ${port}${asUser}${asking} -e 'select 1'`;
}

function etcdEndpoints({ scheme, hosts }: HostList): string {
  const prefix = scheme === 'etcds:' ? 'https://' : '';
  return hosts
    .map((host) => splitPort(host, 2379))
    .map(([host, port]) => `${prefix}${host}:${port}`)
    .join(',');
}

function eachHost(
  { hosts }: HostList,
  defaultPort: number,
  command: (host: string, port: number) => string,
): string {
  return hosts
    .map((host) => splitPort(host, defaultPort))
    .map(([host, port]) => command(bareHost(host), port))
    .join(nextLine);
}

/** Without the brackets of an address. */
const bareHost = (host: string) => host.replace(/^\[(.*)\]$/, '$1');

function splitPort(text: string, defaultPort: number): [host: string, port: number] {
  // The last colon, unless it is one of an address in brackets.
  const [, host = text, port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(text) ?? [];
  return [host, Number(port ?? defaultPort)];
}

/** @param url of one server, see `repeatedUrl`. */
export function redisCli(url: string): string {
  const list = parseHostList(url);
  return list === undefined
    ? `redis-cli -u ${quoted(url)}`
    : redisCliOf(list, `${list.hosts[0]}${list.path}`);
}

function redisCliOf(list: HostList, place: string): string {
  const scheme = list.scheme.startsWith('rediss') ? 'rediss' : 'redis';
  const user = userOf(list);
  const asUser = user === '' ? '' : ` --user ${quoted(user)}`;
  return `redis-cli -u ${scheme}://${place}${list.login === '' ? '' : `${asUser} --askpass`}`;
}

function etcdOptions(list: HostList): string {
  const files = new URLSearchParams(list.parameters);
  const options = [
    ['cacert', files.get('ca')],
    ['cert', files.get('cert')],
    ['key', files.get('key')],
    ['user', userOf(list)],
  ] as const;
  return options.map(([name, value]) => (value ? ` --${name}=${quoted(value)}` : '')).join('');
}

/** As the programs of the stores want it; empty if there is none. */
function userOf({ login }: HostList): string {
  const [user = ''] = login.split(':');
  return user === '***' ? '' : decodeURIComponent(user);
}

/** `psql` asks for it. */
function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/[^\s/?#@:]*):[^\s/?#@]*@/, '$1@');
}
