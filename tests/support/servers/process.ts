import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, closeSync, fstatSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An account to run a server as; absent: the one we run as ourselves. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Ends a server and removes its folder when this process is gone, however that came about, SIGKILL
 * included.
 *
 * A small shell holds the read end of a pipe from this process and is told which server runs; the end
 * of the pipe is its cue. So no exit hook or signal handler is needed, and none gets in the way of
 * the program under test. It knows the server by its process id, and forgets it as soon as it ended.
 */
export class Guard {
  readonly #shell: ChildProcess;

  /**
   * @param signals what to send to the server, in this order, a second apart
   * @param removeDir the folder to remove, if any
   */
  constructor(signals: readonly string[], removeDir: string | undefined) {
    const script = `dir=$1; shift
while read -r line; do pid=$line; done
for signal in "$@"; do
  test -n "$pid" && kill -s CONT "$pid" && kill -s "$signal" "$pid" && sleep 1
done 2>/dev/null
test -z "$dir" || rm -rf -- "$dir"`;
    this.#shell = spawn('/bin/sh', ['-c', script, 'guard', removeDir ?? '', ...signals], {
      cwd: '/',
      // Its own group: a Ctrl-C at the terminal is not for it.
      detached: true,
      env: serverEnvironment(),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.unref();
    // The pipe must not keep this process alive either: whether it lives is what the pipe tells.
    const pipe = this.#shell.stdin as Socket;
    pipe.on('error', () => {});
    pipe.unref();
  }

  watch(pid: number | undefined): void {
    this.#shell.stdin?.write(`${pid ?? ''}\n`);
  }

  /** To be called when server and folder are gone. */
  dismiss(): void {
    this.#shell.kill('SIGKILL');
  }
}

/** Where a server runs, as far as the network is concerned. */
export interface ServerHost {
  readonly address: string;
  /** What starts a program there. */
  readonly command: readonly string[];
}

/** The machine itself, which nobody else reaches. */
export const loopback: ServerHost = { address: '127.0.0.1', command: [] };

export interface ServerCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** Where it runs, and writes its log. */
  readonly dir: string;
  /** Beside what every server gets. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly account?: Account | undefined;
  /** Default: {@link loopback}. */
  readonly host?: ServerHost | undefined;
  readonly guard: Guard;
}

/** One run of a server, from its start to its end. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #logFile: string;
  readonly #logStart: number;
  #running = true;

  constructor(command: ServerCommand) {
    const { program, args, dir, environment, account, host = loopback, guard } = command;
    this.#logFile = logFile(dir);
    const log = openSync(this.#logFile, 'a');
    this.#logStart = fstatSync(log).size;
    const [file, ...rest] = [...host.command, program, ...args] as [string, ...string[]];
    this.#child = spawn(file, rest, {
      cwd: dir,
      // Its own group: a Ctrl-C at the terminal is for the tests, which then end the server.
      detached: true,
      env: { ...serverEnvironment(), ...environment },
      stdio: ['ignore', log, log],
      ...account,
    });
    closeSync(log);
    this.#child.unref();
    guard.watch(this.#child.pid);
    this.#exited = new Promise((resolve) => {
      const ended = (): void => {
        this.#running = false;
        guard.watch(undefined);
        resolve();
      };
      this.#child.once('exit', ended);
      this.#child.once('error', ended);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What it has logged since this start. */
  get logged(): string {
    return readFileSync(this.#logFile).subarray(this.#logStart).toString();
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#running) this.#child.kill(signal);
  }

  /** Sends the signal and waits for the end; after `patienceMs`, SIGKILL. Twice is as good as once. */
  async end(signal: NodeJS.Signals, patienceMs = 10_000): Promise<void> {
    this.#child.ref();
    this.signal('SIGCONT');
    this.signal(signal);
    const timer = setTimeout(() => this.signal('SIGKILL'), patienceMs);
    await this.#exited;
    clearTimeout(timer);
  }

  /** Calls `probe` until it returns true. Throws with the end of the log if the server gives up. */
  async untilReady(probe: () => Promise<boolean>, limitMs = 20_000): Promise<void> {
    const startedMs = performance.now();
    while (this.#running && performance.now() - startedMs < limitMs) {
      if (await probe()) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const reason = this.#running ? `not ready after ${limitMs} ms` : 'ended while starting';
    await this.end('SIGKILL');
    throw new ServerStartError(
      `${this.#child.spawnfile} ${reason}`,
      this.logged.trimEnd().split('\n').slice(-20).join('\n'),
    );
  }
}

export class ServerStartError extends Error {
  override readonly name = 'ServerStartError';
  readonly portTaken: boolean;

  constructor(what: string, log: string) {
    super(`${what}\n${log}`);
    this.portTaken = /address already in use/i.test(log);
  }
}

/** A server needs nothing of ours, least of all credentials. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LANG: 'C.UTF-8', TZ: 'UTC' };
}

export function logFile(dir: string): string {
  return join(dir, 'server.log');
}

/**
 * A new folder under the system's temporary one, owned by the account that will use it. If that account may not enter
 * the temporary folder, as root's own may be private, it is made under `/tmp`.
 */
export function makeServerDir(name: string, account?: Account): string {
  const parent = [tmpdir(), '/tmp'].find(
    (folder) => account === undefined || canEnter(account, folder),
  );
  if (parent === undefined) {
    throw new Error(
      `the account ${account?.uid} that the server is to run as may enter neither ${tmpdir()} nor /tmp; set TMPDIR to a folder that it may enter`,
    );
  }
  const dir = mkdtempSync(join(parent, `tenure-${name}-`));
  if (account) chownSync(dir, account.uid, account.gid);
  return dir;
}

/** Asks as that account: modes, groups and access lists of all folders on the way count. */
function canEnter(account: Account, folder: string): boolean {
  const script = 'cd -- "$1"';
  const options = { cwd: '/', env: serverEnvironment(), stdio: 'ignore' as const, ...account };
  return spawnSync('/bin/sh', ['-c', script, 'sh', folder], options).status === 0;
}

export async function removeServerDir(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
}

/** Ports below these are nobody's, and above there are those that the system gives to clients (Linux, by default). */
const lowestPort = 10_000;
const lowestOfClients = 32_768;

/**
 * A loopback port that was free a moment ago; somebody may take it, so starting has to retry. It is none that the system
 * would give to a client, for one of those could also take the port of a server that is down for a moment.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowestPort, lowestOfClients);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}

/** Starts on a free port, again on another one when somebody was faster. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return await start(port);
    } catch (error) {
      const again = error instanceof ServerStartError && error.portTaken && attempt < 5;
      if (!again) throw error;
    }
  }
}
