import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { SteppableClock } from '../clock-shim/steppable-clock.js';
import {
  freePort,
  Guard,
  loopback,
  makeServerDir,
  onFreePort,
  removeServerDir,
  type ServerHost,
  ServerProcess,
} from './process.js';

export interface ZooKeeperOptions {
  /** The grain of its time. Default 50 ms. */
  readonly tickTimeMs?: number;
  /** The session time-outs that it grants. Default 300 ms and 60 s. */
  readonly smallestSessionMs?: number;
  readonly largestSessionMs?: number;
  /** Give it a wall clock of its own, for `stepClock`. Default: that of the machine. */
  readonly clock?: boolean;
  /** Where each member runs. Default: all on the loopback interface. */
  readonly hosts?: readonly ServerHost[];
}

/** A ZooKeeper of the caller's own. */
export interface ZooKeeperServer {
  /** `zookeeper://host:port`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** Ends it and removes its folder. May be called twice. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** Starts again on the same port, after ending what still runs. */
  restart(options: { readonly keepData: boolean }): Promise<void>;
  /** Sets its wall clock forward or back, for later starts as well. Needs `clock`. */
  stepClock(stepMs: number): void;
  readonly clockOffsetMs: number;
  /** What it is now: `standalone`, `leader`, `follower`; `undefined` if it does not serve. */
  mode(): Promise<string | undefined>;
  /** How many sessions watch each path. */
  watches(): Promise<Map<string, number>>;
}

const jars = [
  'zookeeper',
  'zookeeper-jute',
  'slf4j-api',
  'slf4j-simple',
  'netty-all',
  'metrics-core',
];
const moreJars = ['snappy-java', 'jackson-annotations', 'jackson-core', 'jackson-databind'];

interface Member {
  readonly host: ServerHost;
  readonly port: number;
  /** Lines of the configuration about the other members. */
  readonly peers: readonly string[];
  readonly id: number;
}

/** @throws if Java or Debian's package `zookeeper` is not installed. */
export async function startZooKeeper(options: ZooKeeperOptions = {}): Promise<ZooKeeperServer> {
  return onFreePort((port) => startMember({ host: loopback, port, peers: [], id: 1 }, options));
}

/** Three members of one ensemble, started side by side; ready when one leads and the others follow. */
export async function startZooKeeperEnsemble(
  options: ZooKeeperOptions = {},
): Promise<ZooKeeperServer[]> {
  const ids = [1, 2, 3];
  const ports = await Promise.all(
    ids.map(async () => [await freePort(), await freePort(), await freePort()] as const),
  );
  const hosts = ids.map((_, index) => options.hosts?.[index] ?? loopback);
  const peers = ids.map((id, index) => {
    const [, quorum, election] = ports[index] as readonly [number, number, number];
    return `server.${id}=${hosts[index]?.address}:${quorum}:${election}`;
  });
  const started = await Promise.allSettled(
    ids.map((id, index) => {
      const [port = 0] = ports[index] ?? [];
      return startMember({ host: hosts[index] ?? loopback, port, peers, id }, options);
    }),
  );
  const members = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (members.length === ids.length) return members;
  await Promise.all(members.map((member) => member.stop()));
  throw started.find((one) => one.status === 'rejected')?.reason;
}

async function startMember(member: Member, options: ZooKeeperOptions): Promise<ZooKeeperServer> {
  const { host, port } = member;
  const { address } = host;
  const missing = [...jars, ...moreJars].map(jarFile).find((file) => !existsSync(file));
  if (missing !== undefined)
    throw new Error(`${missing} is not there: install Debian's package zookeeper`);
  const dir = makeServerDir('zookeeper');
  const guard = new Guard(['KILL'], dir);
  const clock = options.clock ? new SteppableClock(join(dir, 'clock')) : undefined;
  const data = join(dir, 'data');
  const clear = async (): Promise<void> => {
    clock?.close();
    await removeServerDir(dir);
    guard.dismiss();
  };
  const prepare = (): void => {
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'myid'), `${member.id}\n`);
    writeFileSync(join(dir, 'zoo.cfg'), configuration(member, data, options));
  };
  const launch = async (): Promise<ServerProcess> => {
    const server = new ServerProcess({
      program: '/usr/bin/java',
      args: [
        ...['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto'],
        ...['-Dzookeeper.jmx.log4j.disable=true', '-Dzookeeper.admin.enableServer=false'],
        '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
        // A commit of the tests need not survive a power cut.
        '-Dzookeeper.forceSync=no',
        ...['-cp', [...jars, ...moreJars].map(jarFile).join(':')],
        'org.apache.zookeeper.server.quorum.QuorumPeerMain',
        join(dir, 'zoo.cfg'),
      ],
      dir,
      environment: clock?.environment,
      host,
      guard,
    });
    await server.untilReady(async () => (await modeOf(address, port)) !== undefined);
    return server;
  };

  let server: ServerProcess;
  try {
    prepare();
    server = await launch();
  } catch (error) {
    await clear();
    throw error;
  }

  return {
    url: `zookeeper://${address}:${port}`,
    host: address,
    port,
    get pid() {
      return server.pid;
    },
    async stop() {
      await server.end('SIGKILL');
      await clear();
    },
    kill: () => server.end('SIGKILL'),
    freeze: () => server.signal('SIGSTOP'),
    thaw: () => server.signal('SIGCONT'),
    async restart({ keepData }) {
      await server.end('SIGKILL');
      if (!keepData) await rm(data, { recursive: true });
      prepare();
      server = await launch();
    },
    stepClock(stepMs) {
      if (!clock) throw new Error('this ZooKeeper has the clock of the machine');
      clock.step(stepMs);
    },
    get clockOffsetMs() {
      return clock?.offsetMs ?? 0;
    },
    mode: () => modeOf(address, port),
    watches: async () => watchesIn(await word('wchp', address, port)),
  };
}

function jarFile(name: string): string {
  return `/usr/share/java/${name}.jar`;
}

function configuration(
  { host, port, peers }: Member,
  data: string,
  { tickTimeMs = 50, smallestSessionMs = 300, largestSessionMs = 60_000 }: ZooKeeperOptions,
): string {
  return [
    `tickTime=${tickTimeMs}`,
    `minSessionTimeout=${smallestSessionMs}`,
    `maxSessionTimeout=${largestSessionMs}`,
    `dataDir=${data}`,
    `clientPortAddress=${host.address}`,
    `clientPort=${port}`,
    'maxClientCnxns=0',
    'initLimit=100',
    'syncLimit=20',
    'admin.enableServer=false',
    '4lw.commands.whitelist=srvr,wchp',
    ...peers,
    '',
  ].join('\n');
}

async function modeOf(address: string, port: number): Promise<string | undefined> {
  return /^Mode: (\w+)/m.exec(await word('srvr', address, port))?.[1];
}

/** Each path in a line of its own, followed by one indented line for each session. */
function watchesIn(answer: string): Map<string, number> {
  const watches = new Map<string, number>();
  let path = '';
  for (const line of answer.split('\n')) {
    if (line.startsWith('/')) path = line;
    else if (line.startsWith('\t')) watches.set(path, (watches.get(path) ?? 0) + 1);
  }
  return watches;
}

/** Asks with a four-letter word; the empty text if there is no answer. */
function word(text: string, address: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, address);
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on('connect', () => socket.write(text));
    socket.on('data', (bytes) => {
      answer += bytes;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(answer));
  });
}
