import { type HostList, parseHostList } from './host-list.js';
import { quoted } from './next-command.js';
import { withSchema } from './postgres-url.js';
import { kindOf } from './store-kinds.js';

/** Several commands stand below each other, behind `next:`, and can be pasted as they are. */
const nextLine = `;\n${' '.repeat('  next:    '.length)}`;

/** A command that everybody who runs such a server has at hand. @param address as `addressOf` writes it. */
export function probeOf(address: string): string {
  if (address.startsWith('sqlite:')) return `ls -l ${address.slice('sqlite:'.length)}`;
  const list = parseHostList(address);
  if (list === undefined) return 'the same command again';
  switch (kindOf(list.scheme)) {
    case 'postgres':
      return `psql ${quoted(withSchema(address, undefined))} -c 'select 1'`;
    case 'etcd':
      return `ETCDCTL_API=3 etcdctl --endpoints=${etcdEndpoints(list)} endpoint health`;
    case 'zookeeper':
      return eachHost(list, 2181, (host, port) => `echo srvr | nc ${host} ${port}`);
    case 'sentinel': {
      const master = list.path.slice(1);
      const ask = `sentinel get-master-addr-by-name ${quoted(master)}`;
      return eachHost(list, 26_379, (host, port) => `redis-cli -h ${host} -p ${port} ${ask}`);
    }
    case 'cluster':
      return `${redisCli(list.scheme, list.hosts[0] ?? '')} cluster info`;
    case 'quorum':
      return list.hosts.map((host) => `${redisCli(list.scheme, host)} ping`).join(nextLine);
    default:
      return `redis-cli -u ${address} ping`;
  }
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
  const bare = (host: string) => host.replace(/^\[(.*)\]$/, '$1');
  return hosts
    .map((host) => splitPort(host, defaultPort))
    .map(([host, port]) => command(bare(host), port))
    .join(nextLine);
}

function splitPort(text: string, defaultPort: number): [host: string, port: number] {
  // The last colon, unless it is one of an address in brackets.
  const [, host = text, port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(text) ?? [];
  return [host, Number(port ?? defaultPort)];
}

function redisCli(scheme: string, host: string): string {
  return `redis-cli -u ${scheme.startsWith('rediss') ? 'rediss' : 'redis'}://${host}`;
}
