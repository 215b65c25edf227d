import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Sink } from '../sink.js';
import type { Fleet, TellNews } from './fleet.js';
import {
  fromWire,
  replyOf,
  type SinkReply,
  type SinkRequest,
  type ToChild,
  type ToParent,
} from './protocol.js';

const entry = new URL('./worker-entry.js', import.meta.url);
/** Whoever has not left by then is killed. */
const leaveTimeoutMs = 10_000;
/** A worker that has not answered by then never will. */
const answerTimeoutMs = 20_000;

/** Workers that are processes of their own, stopped by the operating system's signals. */
export class ProcessFleet implements Fleet {
  readonly kind = 'workers are processes of their own';
  readonly #store: { readonly url: string; readonly namespace: string };
  readonly #sink: Sink;
  readonly #tell: TellNews;
  readonly #children = new Map<string, ChildProcess>();
  readonly #killAll = () => {
    for (const child of this.#children.values()) child.kill('SIGKILL');
  };

  constructor(
    store: { readonly url: string; readonly namespace: string },
    sink: Sink,
    tell: TellNews,
  ) {
    this.#store = store;
    this.#sink = sink;
    this.#tell = tell;
    process.once('exit', this.#killAll);
  }

  async spawn(id: string): Promise<void> {
    const child = fork(entry, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#children.set(id, child);
    child.on('message', (message: ToParent) => {
      if (message.type === 'news') this.#tell(message.news);
      else if (message.type === 'sink') void this.#serve(child, message);
    });
    const joined = nextMessage(child, 'joined');
    send(child, { type: 'join', settings: { id, ...this.#store, sink: this.#sink.remote } });
    await joined;
  }

  async heldBy(id: string): Promise<readonly number[]> {
    const child = this.#child(id);
    const answer = nextMessage(child, 'held');
    send(child, { type: 'report' });
    return (await answer).shards;
  }

  kill(id: string): string {
    return this.#signal(id, 'SIGKILL');
  }

  freeze(id: string): string {
    const { pid } = this.#child(id);
    for (const child of this.#children.values()) send(child, { type: 'frozen', pid });
    return this.#signal(id, 'SIGSTOP');
  }

  thaw(id: string): string {
    for (const child of this.#children.values()) send(child, { type: 'frozen', pid: undefined });
    return this.#signal(id, 'SIGCONT');
  }

  async close(): Promise<void> {
    await Promise.all([...this.#children.values()].map(leave));
    process.off('exit', this.#killAll);
  }

  #signal(id: string, signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): string {
    const child = this.#child(id);
    child.kill(signal);
    return `${signal} to process ${child.pid}`;
  }

  #child(id: string): ChildProcess {
    const child = this.#children.get(id);
    if (child === undefined) throw new Error(`there is no worker ${id}`);
    return child;
  }

  async #serve(child: ChildProcess, { call, token, effect }: SinkRequest): Promise<void> {
    let reply: SinkReply;
    try {
      const bearer = fromWire(token);
      if (effect === undefined) {
        await this.#sink.claim(bearer);
        reply = { call, outcome: 'claimed' };
      } else {
        const { id, answer } = effect;
        reply = { call, outcome: await this.#sink.write(bearer, id, answer) };
      }
    } catch (error) {
      reply = replyOf(call, error);
    }
    send(child, { type: 'sink', ...reply });
  }
}

/** To a process that may have been killed a moment ago: then nobody waits for it. */
function send(child: ChildProcess, message: ToChild): void {
  if (child.connected) child.send(message, () => {});
}

/** @throws if the process reports a failure, ends, or says nothing. */
function nextMessage<Type extends ToParent['type']>(
  child: ChildProcess,
  type: Type,
): Promise<Extract<ToParent, { type: Type }>> {
  return new Promise((resolve, reject) => {
    const silence = setTimeout(
      () => settle(() => reject(new Error(`a worker process has not ${type} in time`))),
      answerTimeoutMs,
    );
    const settle = (act: () => void) => {
      clearTimeout(silence);
      child.off('message', onMessage);
      child.off('exit', onExit);
      act();
    };
    const onMessage = (message: ToParent) => {
      if (message.type === type)
        settle(() => resolve(message as Extract<ToParent, { type: Type }>));
      else if (message.type === 'failed') settle(() => reject(new Error(message.words)));
    };
    const onExit = () => settle(() => reject(new Error(`a worker process ended unexpectedly`)));
    child.on('message', onMessage);
    child.on('exit', onExit);
  });
}

async function leave(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGCONT');
  send(child, { type: 'leave' });
  const patience = setTimeout(() => child.kill('SIGKILL'), leaveTimeoutMs);
  await ended;
  clearTimeout(patience);
}
