import { commandWriter } from '../../src/cli/next-command.js';
import { PendingAct } from '../../src/cli/pending-act.js';
import type { Session } from '../../src/cli/session.js';
import type { Terminal } from '../../src/cli/terminal.js';
import { Holder } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { call } from '../support/call.js';

/** A terminal that remembers what was written to it. */
export class RecordingTerminal implements Terminal {
  readonly printed: string[] = [];
  readonly notes: string[] = [];
  readonly questions: string[] = [];
  readonly noteColumns = 80;
  /** What a person types; nobody is there without it. */
  answer: string | undefined;

  get isInteractive(): boolean {
    return this.answer !== undefined;
  }

  readonly print = (line = ''): void => {
    this.printed.push(line);
  };

  readonly note = (line = ''): void => {
    this.notes.push(line);
  };

  /** Whoever reads the answer goes away. */
  leave: () => void = () => {};

  readonly onReaderGone = (gone: () => void): (() => void) => {
    this.leave = gone;
    return () => {};
  };

  readonly style = (_format: unknown, text: string): string => text;

  readonly ask = async (question: string): Promise<string> => {
    this.questions.push(question);
    return this.answer ?? '';
  };

  get answerText(): string {
    return this.printed.join('\n');
  }

  get noteText(): string {
    return this.notes.join('\n');
  }
}

export interface Desk {
  readonly session: Session;
  readonly terminal: RecordingTerminal;
  readonly runtime: VirtualRuntime;
  readonly store: MemoryStore;
  /** The command's way to the store. */
  readonly link: FaultLink;
  /** Ctrl-C. */
  readonly stopping: AbortController;
  /** A process that holds, waits and leaves by the plain contract. */
  actor(id: string): Actor;
}

/** One holder at the same store. */
export class Actor {
  readonly holder: Holder;
  readonly coordinator: ReturnType<typeof memoryCoordinator>;
  readonly #runtime: VirtualRuntime;

  constructor(id: string, store: MemoryStore, runtime: VirtualRuntime) {
    this.#runtime = runtime;
    this.holder = Holder.create(id, runtime);
    this.coordinator = memoryCoordinator(store, { runtime });
  }

  /** The term. */
  async acquire(name: string, more: { ttlMs?: number; graceMs?: number; metadata?: string } = {}) {
    const attempt = this.#runtime.randomHex(16);
    const request = {
      name,
      holder: this.holder,
      attempt,
      ttlMs: 30_000,
      keepHistory: true,
      ...more,
    };
    const [result] = await this.coordinator.acquire([request], call);
    if (result?.outcome !== 'granted') throw new Error(`not granted: ${result?.outcome}`);
    return result.term;
  }

  async release(name: string, term: number): Promise<void> {
    await this.coordinator.release([{ name, holder: this.holder, term }], call);
  }

  async handoff(name: string, term: number, to: string, reserveMs = 30_000): Promise<void> {
    await this.coordinator.handoff([{ name, holder: this.holder, term, to, reserveMs }], call);
  }

  async renew(name: string, term: number) {
    const request = { name, holder: this.holder, term, ttlMs: 30_000 };
    const [result] = await this.coordinator.renew([request], call);
    return result?.outcome;
  }

  async wait(name: string, preference = 0, metadata?: string): Promise<void> {
    await this.#enroll(name, 'waiting', preference, metadata);
  }

  async observe(name: string): Promise<void> {
    await this.#enroll(name, 'observing', 0);
  }

  async stand(name: string): Promise<void> {
    await this.#enroll(name, 'present', 0);
  }

  /** Acquires the name as soon as it is called for it. */
  async takeWhenCalled(name: string): Promise<void> {
    this.coordinator.onCalled(this.holder, () => void this.acquire(name).catch(() => {}));
    await this.wait(name);
  }

  async #enroll(
    name: string,
    standing: 'waiting' | 'present' | 'observing',
    preference: number,
    metadata?: string,
  ): Promise<void> {
    const entry = { name, holder: this.holder, standing, preference, ttlMs: 60_000 };
    const request = metadata === undefined ? entry : { ...entry, metadata };
    await this.coordinator.enroll([request], call);
  }
}

/** A command at work on a store in memory, under virtual time. */
export function createDesk(): Desk {
  const runtime = new VirtualRuntime();
  const store = new MemoryStore({ runtime });
  const link = new FaultLink();
  const terminal = new RecordingTerminal();
  const stopping = new AbortController();
  const session: Session = {
    coordinator: memoryCoordinator(store, { runtime, link }),
    terminal,
    runtime,
    signal: stopping.signal,
    address: 'redis://store.example:6379',
    namespace: 'default',
    write: commandWriter({ url: 'redis://ops:secret@store.example:6379' }),
    pending: new PendingAct(stopping.signal),
  };
  return {
    session,
    terminal,
    runtime,
    store,
    link,
    stopping,
    actor: (id) => new Actor(id, store, runtime),
  };
}
