import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { ElectionOptions, LeasesOptions } from '../../../src/index.js';
import { Guard, serverEnvironment } from '../servers/process.js';
import type { GuardedResource, Writer } from './resource.js';
import { Story, type Told } from './story.js';

/** Where a process on a SQLite file kills itself: around the commit of its first operation of that kind. */
export interface Death {
  readonly at: 'acquire' | 'renew' | 'release';
  readonly moment: 'before' | 'after';
}

interface Settings {
  readonly url: string;
  readonly namespace: string;
  readonly id: string;
  /** Of the election. */
  readonly name: string;
  readonly leases: LeasesOptions;
}

export interface CandidateSettings extends Settings {
  readonly election: ElectionOptions;
  /** Of Redis. */
  readonly connectTimeoutMs: number;
  readonly dies?: Death;
}

export interface CrowdSettings extends Settings {
  readonly count: number;
  readonly connectionCount: number;
}

/** What the first statement after a standstill saw, and what became of the write that followed it at once. */
export interface Woken {
  readonly state: string;
  readonly endReason: string | undefined;
  readonly term: number;
  readonly wasAccepted: boolean;
}

type Message =
  | { readonly type: 'write'; readonly number: number; readonly writer: Writer }
  | {
      readonly type: 'answer';
      readonly number: number;
      readonly value?: unknown;
      readonly error?: string;
    }
  | ({ readonly type: 'event' } & Told);

interface Asker {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A candidate, or a crowd of them, as a process of its own, known by its process id. It never outlives this process. */
export class CandidateProcess {
  readonly id: string;
  readonly story = new Story();
  /** Resolves to the exit code, or to the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly #child: ChildProcess;
  readonly #resource: GuardedResource;
  readonly #askers = new Map<number, Asker>();
  #askedCount = 0;
  #isRunning = true;
  #output = '';

  /** @param environment is added to what every program needs. */
  constructor(
    settings: CandidateSettings | CrowdSettings,
    resource: GuardedResource,
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.id = settings.id;
    this.#resource = resource;
    const program = 'count' in settings ? 'crowd.mjs' : 'candidate.mjs';
    const guard = new Guard(['KILL'], undefined);
    this.#child = spawn(process.execPath, [join(import.meta.dirname, program)], {
      env: { ...serverEnvironment(), ...environment, CANDIDATE: JSON.stringify(settings) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    guard.watch(this.#child.pid);
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
      });
    this.#child.on('message', (message: Message) => this.#hear(message));
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        const how = signal ?? code ?? -1;
        this.#isRunning = false;
        guard.watch(undefined);
        guard.dismiss();
        this.#end(String(how));
        resolve(how);
      });
    });
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** All that is known of it, to show when something went wrong. */
  toString(): string {
    return `--- ${this.id}\n${this.story}\n${this.#output}`;
  }

  /** See {@link Story.heard}. */
  heard(event: string, isWanted?: (told: Told) => boolean): Promise<Told> {
    return this.story.heard(event, isWanted);
  }

  /** Resolves when it leads in a term after this one. */
  elected(afterTerm = 0): Promise<Told & { readonly term: number }> {
    const elected = this.heard('elected', ({ term = 0 }) => term > afterTerm);
    return elected as Promise<Told & { readonly term: number }>;
  }

  /** It is a candidate until it {@link leave}s, and writes whenever it leads. */
  async lead(): Promise<void> {
    await this.heard('ready');
    await this.#ask('lead');
  }

  /** Resolves with its term; `undefined` if it was not elected within `waitMs`. Writes nothing by itself. */
  async campaign(waitMs: number): Promise<number | undefined> {
    await this.heard('ready');
    return (await this.#ask('campaign', { waitMs })) as number | undefined;
  }

  /** Of its last lease, as it says itself. */
  async state(): Promise<{ readonly state: string; readonly term: number }> {
    return (await this.#ask('state')) as { state: string; term: number };
  }

  /** One write with its last lease, whatever that says; resolves with whether it was accepted. */
  async write(): Promise<boolean> {
    return (await this.#ask('write')) as boolean;
  }

  /** Its event loop stands still. */
  async block(forMs: number): Promise<Woken> {
    return (await this.#ask('block', { forMs })) as Woken;
  }

  /** Stopped (SIGSTOP) until `isTime` resolves, and at least so long; then woken. */
  async freeze(stoppedForMs: number, isTime: () => Promise<unknown>): Promise<Woken> {
    const woken = this.#ask('doze', { stoppedForMs }) as Promise<Woken>;
    // Rejects if it dies; whoever awaits this call hears of it.
    woken.catch(() => {});
    const count = this.story.all('standing').length;
    await this.heard('standing', (told) => this.story.all('standing').indexOf(told) >= count);
    this.signal('SIGSTOP');
    const stoppedAtMs = performance.now();
    await isTime();
    const leftMs = stoppedForMs - (performance.now() - stoppedAtMs);
    if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
    this.signal('SIGCONT');
    return await woken;
  }

  async resign(): Promise<boolean> {
    return (await this.#ask('resign')) as boolean;
  }

  async handoff(to: string): Promise<boolean> {
    return (await this.#ask('handoff', { to })) as boolean;
  }

  /** It gives everything back and ends; rejects if it does not end well. */
  async leave(): Promise<void> {
    await this.#ask('leave');
    const how = await this.ended;
    if (how !== 0) throw new Error(`${this.id} did not end well: ${how}`);
  }

  /** Does nothing once it has ended. */
  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning) this.#child.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  #ask(command: string, parameters: object = {}): Promise<unknown> {
    if (!this.#isRunning) return Promise.reject(new Error(`${this.id} has ended`));
    this.#askedCount += 1;
    const number = this.#askedCount;
    return new Promise((resolve, reject) => {
      this.#askers.set(number, { resolve, reject });
      this.#send({ number, command, ...parameters });
    });
  }

  #hear(message: Message): void {
    if (message.type === 'event') {
      const { type, ...told } = message;
      this.story.add(told);
    } else if (message.type === 'write') {
      const wasAccepted = this.#resource.take(message.writer);
      this.#send({ type: 'verdict', number: message.number, wasAccepted });
    } else {
      const asker = this.#askers.get(message.number);
      this.#askers.delete(message.number);
      if (message.error === undefined) asker?.resolve(message.value);
      else asker?.reject(new Error(`${this.id}: ${message.error}`));
    }
  }

  /** It may end before the message is there. */
  #send(message: object): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #end(how: string): void {
    this.story.end(how);
    for (const { reject } of this.#askers.values())
      reject(new Error(`${this.id} ended (${how}) before it answered`));
    this.#askers.clear();
  }
}
