import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Guard,
  makeServerDir,
  removeServerDir,
  ServerProcess,
} from '../support/servers/process.js';
import { until } from '../support/until.js';
import { noSeparateHosts, type SeparateHost, SeparateHosts } from './stages/separate-hosts.js';

/** Sends a datagram to each of the others every 10 ms, and tells from whom it hears. */
const program = `
const socket = require('node:dgram').createSocket('udp4');
const [own, ...others] = process.argv.slice(1);
socket.on('message', (_, { address }) => console.log('heard ' + address));
socket.bind(7000, own, () => {
  console.log('ready');
  setInterval(() => others.forEach((other) => socket.send('x', 7000, other)), 10);
});`;

interface Speaker {
  readonly host: SeparateHost;
  readonly server: ServerProcess;
  readonly dir: string;
  readonly guard: Guard;
}

function speakOn(host: SeparateHost, all: readonly SeparateHost[]): Speaker {
  const dir = makeServerDir('hosts');
  const guard = new Guard(['KILL'], dir);
  const others = all.filter((other) => other !== host).map(({ address }) => address);
  const args = ['-e', program, host.address, ...others];
  return {
    host,
    dir,
    guard,
    server: new ServerProcess({ program: process.execPath, args, dir, host, guard }),
  };
}

describe.skipIf(noSeparateHosts !== undefined)('hosts of a network of their own', () => {
  let network: SeparateHosts;
  let speakers: readonly Speaker[];
  beforeAll(async () => {
    network = SeparateHosts.open(3);
    speakers = network.hosts.map((host) => speakOn(host, network.hosts));
    await Promise.all(
      speakers.map(({ server }) => server.untilReady(async () => /ready/.test(server.logged))),
    );
  });
  afterAll(async () => {
    for (const { server, dir, guard } of speakers) {
      await server.end('SIGKILL');
      await removeServerDir(dir);
      guard.dismiss();
    }
    await network.close();
  });

  const heard = (from: number, by: number): number => {
    const line = `heard ${speakers[from]?.host.address}\n`;
    return (speakers[by]?.server.logged.split(line).length ?? 1) - 1;
  };
  const hearsMore = async (from: number, by: number, count = 20) => {
    const before = heard(from, by);
    await until(`${by} hears ${from}`, () => heard(from, by) >= before + count);
  };

  it('lose what one sends to another, and nothing else, until they are healed', async () => {
    const [first, second] = network.hosts as readonly [SeparateHost, SeparateHost];
    await hearsMore(0, 1);
    network.lose(first, second);
    // What was on its way has arrived by then.
    await hearsMore(1, 0);
    const before = heard(0, 1);
    await hearsMore(1, 0, 50);
    await hearsMore(0, 2);
    await hearsMore(2, 1);
    expect(heard(0, 1)).toBe(before);
    network.heal();
    await hearsMore(0, 1);
  });
});
