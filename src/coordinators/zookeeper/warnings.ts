import type { ZooKeeperAddress } from '../../drivers/zookeeper/index.js';

const openToAll =
  'the nodes that tenure makes can be read and changed by everybody who can connect to ZooKeeper: give a user and a password in the URL, zookeeper://user:password@host.';
const readable =
  'the password goes to ZooKeeper without TLS, and can be read by whoever reads the network: let only trusted hosts be between, or a tunnel that ends on this machine.';
const thisMachine = /^(?:localhost|127(?:\.\d+){3}|::1)$/i;

/** What should be changed about how an ensemble is reached, if anything. */
export function warningAbout({
  login,
  servers,
}: Pick<ZooKeeperAddress, 'login' | 'servers'>): string | undefined {
  if (login === undefined) return openToAll;
  return servers.every(({ host }) => thisMachine.test(host)) ? undefined : readable;
}
