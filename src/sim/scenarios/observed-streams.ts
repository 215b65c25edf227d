import type { Unsubscribe } from '../../events/index.js';
import type { InstalledTerm } from '../../fences/rule.js';
import type {
  InstallResult,
  PublishRequest,
  PublishResult,
  StepRequest,
  StepResult,
} from '../../streams/contract.js';
import { MemoryStreams, type MemoryStreamsOptions } from '../../streams/memory/index.js';
import { type LogTime, ShardLog } from '../../streams/memory/log.js';
import type { MessageFacts } from '../checkers/messages.js';
import type { Machine } from '../world/machine.js';

/** Who is told what becomes of messages in the logs, as it happens there. */
export interface StreamsObserver {
  appended(message: MessageFacts): void;
  finished(message: MessageFacts): void;
  /** The log let somebody read, or changed something, whose term is not the one that is installed in it. */
  obeyedStranger(what: string): void;
}

/** Logs that tell what they accept and what they let go. */
export class ObservedStreams extends MemoryStreams {
  readonly #observer: StreamsObserver;
  #connecting: Machine | undefined;

  constructor(observer: StreamsObserver, options: MemoryStreamsOptions) {
    super(options);
    this.#observer = observer;
  }

  /** What is made in `connect` hears of these logs as long as this incarnation of the machine lives, and when it runs. */
  connectedFrom<Client>(machine: Machine, connect: () => Client): Client {
    this.#connecting = machine;
    try {
      return connect();
    } finally {
      this.#connecting = undefined;
    }
  }

  override on<Name extends Parameters<MemoryStreams['on']>[0]>(
    name: Name,
    listener: Parameters<typeof MemoryStreams.prototype.on<Name>>[1],
  ): Unsubscribe {
    const machine = this.#connecting;
    if (machine === undefined) return super.on(name, listener);
    const { incarnation } = machine;
    return super.on(name, (event) => {
      machine.deliver(() => {
        if (machine.incarnation === incarnation) listener(event);
      });
    });
  }

  protected override newLog(): ShardLog {
    return new ObservedLog(this.#observer, this.dedupeWindowMs);
  }
}

class ObservedLog extends ShardLog {
  readonly #observer: StreamsObserver;
  readonly #unfinished = new Map<string, MessageFacts>();
  #appendedCount = 0;
  /** The term that was installed last, and whose it is. */
  #owner = '';

  constructor(observer: StreamsObserver, dedupeWindowMs: number) {
    super(dedupeWindowMs);
    this.#observer = observer;
  }

  override append(request: PublishRequest, time: LogTime): PublishResult {
    const result = super.append(request, time);
    if (result.outcome !== 'appended') return result;
    // Its place in the log, as the log counts them.
    this.#appendedCount += 1;
    const message = { key: request.key, seq: result.seq, id: request.id };
    this.#unfinished.set(String(this.#appendedCount), message);
    this.#observer.appended(message);
    return result;
  }

  override install(candidate: InstalledTerm): InstallResult {
    const result = super.install(candidate);
    if (result.outcome === 'installed') this.#owner = `${candidate.term} ${candidate.holderDigest}`;
    return result;
  }

  override step(request: StepRequest): StepResult {
    const { term, holder } = request.token;
    const isOwner = `${term} ${holder.digest}` === this.#owner;
    const { messageCount } = this;
    const result = super.step(request);
    if (!isOwner && result.outcome === 'ok' && result.messages.length > 0)
      this.#observer.obeyedStranger(`read in term ${term}`);
    const isAcknowledged = result.outcome === 'ok' && request.acknowledge.length > 0;
    if (!isOwner && (isAcknowledged || this.messageCount < messageCount))
      this.#observer.obeyedStranger(`acknowledged in term ${term}`);
    if (result.outcome !== 'ok') return result;
    for (const position of request.acknowledge) {
      const message = this.#unfinished.get(position);
      if (message !== undefined && this.#unfinished.delete(position))
        this.#observer.finished(message);
    }
    return result;
  }
}
