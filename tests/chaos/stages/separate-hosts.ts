import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import { type ServerHost, serverEnvironment } from '../../support/servers/process.js';

/** A host of its own: a network namespace with one interface on a bridge that all of them share. */
export interface SeparateHost extends ServerHost {
  readonly namespace: string;
}

/** Nobody has this address, so what is sent to it goes to nobody. */
const nobody = '02:00:00:00:00:00';
/** Set aside for tests of networks: no address there is anybody's. Each network gets eight of them. */
const subnets = ['198.18', '198.19'] as const;

/**
 * Hosts between which packets can be lost, each direction by itself: the kernel sends them to a hardware address that nobody
 * has. Nobody is told; connections stay open, and what was lost is sent again, as long as the sender likes, once it can pass.
 *
 * All of them reach the machine, and are reached from there. They are gone with this process, however that ends.
 */
export class SeparateHosts {
  readonly hosts: readonly SeparateHost[];
  readonly #shell: ChildProcess;

  private constructor(hosts: readonly SeparateHost[], shell: ChildProcess) {
    this.hosts = hosts;
    this.#shell = shell;
  }

  static open(count: number): SeparateHosts {
    const id = randomInt(36 ** 5).toString(36);
    const bridge = `tenure-${id}`;
    const subnet = freeSubnet();
    const hosts = Array.from({ length: count }, (_, index): SeparateHost => {
      const namespace = `tenure-${id}-${index + 1}`;
      return {
        namespace,
        address: addressIn(subnet, index + 2),
        command: ['ip', 'netns', 'exec', namespace],
      };
    });
    // Its end of the pipe closes when this process is gone, and whatever runs there is ended by its own guard.
    const script = `bridge=$1; shift
while read -r line; do :; done
for name in "$@"; do ip netns del "$name"; done
ip link del "$bridge"`;
    const names = hosts.map(({ namespace }) => namespace);
    const shell = spawn('/bin/sh', ['-c', script, 'hosts', bridge, ...names], {
      cwd: '/',
      detached: true,
      env: serverEnvironment(),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    shell.unref();
    (shell.stdin as Socket).unref();
    const network = new SeparateHosts(hosts, shell);
    try {
      network.#build(bridge, addressIn(subnet, 1));
    } catch (error) {
      shell.stdin?.end();
      throw error;
    }
    return network;
  }

  /** What one sends to another is lost, from now on. */
  lose(from: SeparateHost, to: SeparateHost): void {
    const entry = [to.address, 'lladdr', nobody, 'nud', 'permanent', 'dev', 'eth0'];
    ip('-n', from.namespace, 'neigh', 'replace', ...entry);
  }

  /** Nothing is lost any more. */
  heal(): void {
    for (const from of this.hosts)
      for (const to of this.hosts)
        if (from !== to) ip('-n', from.namespace, 'neigh', 'flush', 'to', to.address, 'nud', 'all');
  }

  /** To be called when nothing runs there any more. */
  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#shell.once('close', resolve));
    this.#shell.ref();
    this.#shell.stdin?.end();
    await ended;
  }

  #build(bridge: string, address: string): void {
    ip('link', 'add', bridge, 'type', 'bridge');
    ip('addr', 'add', `${address}/29`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    for (const [index, host] of this.hosts.entries()) {
      const { namespace } = host;
      const plug = `${bridge}-${index + 1}`;
      ip('netns', 'add', namespace);
      ip('link', 'add', plug, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
      ip('link', 'set', plug, 'master', bridge, 'up');
      ip('-n', namespace, 'addr', 'add', `${host.address}/29`, 'dev', 'eth0');
      ip('-n', namespace, 'link', 'set', 'eth0', 'up');
      ip('-n', namespace, 'link', 'set', 'lo', 'up');
    }
  }
}

/** Why {@link SeparateHosts} cannot be had here; `undefined` if they can. */
export const noSeparateHosts: string | undefined = reason();

function reason(): string | undefined {
  if (process.getuid?.() !== 0) return 'hosts of a network of its own can be made by root alone';
  try {
    const hosts = SeparateHosts.open(1);
    void hosts.close();
    return undefined;
  } catch (error) {
    return `hosts of a network of its own cannot be made here: ${String(error)}`;
  }
}

function ip(...args: readonly string[]): string {
  const options = { env: serverEnvironment(), encoding: 'utf8', stdio: 'pipe' } as const;
  return execFileSync('ip', args, options);
}

function freeSubnet(): string {
  const taken = ip('-o', '-4', 'addr', 'show');
  for (;;) {
    const subnet = `${subnets[randomInt(2)]}.${randomInt(256)}.${randomInt(32) * 8}`;
    if (!taken.includes(` ${addressIn(subnet, 1)}/`)) return subnet;
  }
}

/** @param place 1 to 6 */
function addressIn(subnet: string, place: number): string {
  const [first, second, third, fourth] = subnet.split('.').map(Number);
  return [first, second, third, Number(fourth) + place].join('.');
}
