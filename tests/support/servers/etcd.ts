import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findEtcd, findEtcdctl } from '../../../scripts/server-binaries.mjs';
import {
  freePort,
  Guard,
  loopback,
  makeServerDir,
  removeServerDir,
  type ServerHost,
  ServerProcess,
  serverEnvironment,
} from './process.js';

export interface EtcdCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface EtcdOptions {
  /** How many members. Default 1. */
  readonly members?: 1 | 3;
  /** Paths of PEM files: clients then have to speak TLS, and to show a certificate of the same authority. */
  readonly certificates?: EtcdCertificates;
  /** Where each member runs. Default: all on the loopback interface. */
  readonly hosts?: readonly ServerHost[];
  /** Further options of each member: `['--quota-backend-bytes', '16777216']`. */
  readonly args?: readonly string[];
}

/** One member of a cluster of the caller's own. */
export interface EtcdMember {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** SIGKILL. The data stay for a start. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** Starts again on the same ports; without its data only if it is the only one. */
  restart(options: { readonly keepData: boolean }): Promise<void>;
}

export interface EtcdCluster {
  /** `etcd://h1:p1,h2:p2`. */
  readonly url: string;
  readonly members: readonly EtcdMember[];
  readonly dir: string;
  /** Runs `etcdctl`, and returns what it printed. */
  etcdctl(...args: readonly string[]): Promise<string>;
  /** Which member leads. */
  leader(): Promise<EtcdMember>;
  /** Replaces all data by those of a snapshot file, as an operator would. One member only. */
  restore(snapshot: string): Promise<void>;
  /** Ends all members in good order and removes the folder. */
  stop(): Promise<void>;
}

const run = promisify(execFile);

interface Place {
  readonly host: ServerHost;
  readonly client: number;
  readonly peer: number;
}

/** Fast elections: the smallest ttl of a store lease is 1 second then, as it is two by default. */
const timing = ['--heartbeat-interval', '20', '--election-timeout', '200'];

export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdCluster> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(options);
    } catch (error) {
      // A port that was free may be taken by now.
      if (attempt === 3) throw error;
    }
  }
}

async function start(options: EtcdOptions): Promise<EtcdCluster> {
  const { members: count = 1, certificates, hosts = [] } = options;
  const dir = makeDataDir();
  const scheme = certificates === undefined ? 'http' : 'https';
  const places: Place[] = [];
  for (let index = 0; index < count; index++) {
    const host = hosts[index] ?? loopback;
    places.push({ host, client: await freePort(), peer: await freePort() });
  }
  const initial = places.map((place, index) => `m${index}=${peerUrl(place)}`).join(',');
  const addresses = places.map(({ host, client }) => `${host.address}:${client}`);
  const members = places.map(
    (own, index) => new Member({ own, index, initial, dir, scheme, options }),
  );
  const endpoints = addresses.map((address) => `${scheme}://${address}`).join(',');
  const etcdctl = async (...args: readonly string[]) => {
    const tls =
      certificates === undefined
        ? []
        : ['--cacert', certificates.ca, '--cert', certificates.cert, '--key', certificates.key];
    const all = ['--endpoints', endpoints, '--command-timeout', '5s', ...tls, ...args];
    const env = { ...serverEnvironment(), ETCDCTL_API: '3' };
    return (await run(etcdctlPath(), all, { env })).stdout;
  };
  const stop = async () => {
    await Promise.all(members.map((member) => member.end()));
    await removeServerDir(dir);
    for (const member of members) member.dismiss();
  };
  try {
    await Promise.all(members.map((member) => member.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `${scheme === 'http' ? 'etcd' : 'etcds'}://${addresses.join(',')}`,
    members,
    dir,
    etcdctl,
    async leader() {
      for (const member of members) if (await member.leads(etcdctl)) return member;
      throw new Error('no member leads');
    },
    async restore(snapshot) {
      const [member] = members as [Member];
      await member.restore(snapshot, initial);
    },
    stop,
  };
}

function peerUrl({ host, peer }: Place): string {
  return `http://${host.address}:${peer}`;
}

function program(path: string | undefined, name: string): string {
  if (path === undefined) throw new Error(`${name} is not installed; \`npm test\` installs it`);
  return path;
}

function etcdctlPath(): string {
  return program(findEtcdctl(), 'etcdctl');
}

const memoryFolder = '/dev/shm';

/**
 * In memory where the system has a folder there: etcd waits for the disk at every write, and what is killed here are
 * processes, whose files stay.
 */
function makeDataDir(): string {
  try {
    return mkdtempSync(join(memoryFolder, 'tenure-etcd-'));
  } catch {
    return makeServerDir('etcd');
  }
}

interface MemberParts {
  readonly own: Place;
  readonly index: number;
  readonly initial: string;
  readonly dir: string;
  readonly scheme: string;
  readonly options: EtcdOptions;
}

class Member implements EtcdMember {
  readonly host: string;
  readonly port: number;
  readonly #parts: MemberParts;
  readonly #guard: Guard;
  readonly #data: string;
  #process: ServerProcess | undefined;

  constructor(parts: MemberParts) {
    this.#parts = parts;
    this.host = parts.own.host.address;
    this.port = parts.own.client;
    this.#data = join(parts.dir, `m${parts.index}`);
    this.#guard = new Guard(['KILL'], parts.dir);
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async start(): Promise<void> {
    const { own, index, initial, dir, scheme, options } = this.#parts;
    const { certificates } = options;
    const client = `${scheme}://${this.host}:${own.client}`;
    const peer = peerUrl(own);
    const tls =
      certificates === undefined
        ? []
        : [
            ...['--cert-file', certificates.cert, '--key-file', certificates.key],
            ...['--trusted-ca-file', certificates.ca, '--client-cert-auth'],
          ];
    const server = new ServerProcess({
      program: program(findEtcd(), 'etcd'),
      args: [
        ...['--name', `m${index}`, '--data-dir', this.#data],
        ...['--listen-client-urls', client, '--advertise-client-urls', client],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--initial-cluster', initial, '--initial-cluster-state', 'new'],
        ...['--logger', 'zap', '--log-level', 'info', '--log-outputs', 'stderr'],
        ...timing,
        ...tls,
        ...(options.args ?? []),
      ],
      dir,
      host: own.host,
      guard: this.#guard,
    });
    this.#process = server;
    // Its own word, not an answer on the port: that could come from somebody who was faster.
    await server.untilReady(async () => /serving (?:insecure )?client/.test(server.logged));
  }

  async kill(): Promise<void> {
    await this.#process?.end('SIGKILL');
  }

  freeze(): void {
    this.#process?.signal('SIGSTOP');
  }

  thaw(): void {
    this.#process?.signal('SIGCONT');
  }

  async restart({ keepData }: { readonly keepData: boolean }): Promise<void> {
    await this.end();
    if (!keepData) await rm(this.#data, { recursive: true, force: true });
    await this.start();
  }

  async restore(snapshot: string, initial: string): Promise<void> {
    const { own, index } = this.#parts;
    await this.end();
    await rm(this.#data, { recursive: true, force: true });
    const peer = peerUrl(own);
    const args = ['snapshot', 'restore', snapshot, '--name', `m${index}`, '--data-dir', this.#data];
    const cluster = ['--initial-cluster', initial, '--initial-advertise-peer-urls', peer];
    const env = { ...serverEnvironment(), ETCDCTL_API: '3' };
    await run(etcdctlPath(), [...args, ...cluster], { env });
    await this.start();
  }

  async leads(etcdctl: EtcdCluster['etcdctl']): Promise<boolean> {
    const text = await etcdctl('endpoint', 'status', '-w', 'json');
    const status = JSON.parse(text) as {
      Endpoint: string;
      Status: { header: { member_id: number }; leader: number };
    }[];
    const own = status.find(({ Endpoint }) => Endpoint.endsWith(`:${this.port}`));
    return own !== undefined && own.Status.leader === own.Status.header.member_id;
  }

  async end(): Promise<void> {
    await this.#process?.end('SIGTERM');
  }

  dismiss(): void {
    this.#guard.dismiss();
  }
}
