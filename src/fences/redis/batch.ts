import { OptionError } from '../../errors/index.js';
import { Batch } from '../batch.js';
import type { Effect } from '../rule.js';
import { keysOf, type RedisReply, type RedisWriteName, writeCommands } from './commands.js';

/** A command in a batch, and what the server answered to it. */
export class QueuedCommand<Reply> {
  #reply: { readonly value: Reply } | undefined;

  /**
   * The server's answer.
   *
   * @throws {OptionError} before `fence.transaction` has resolved, or if it rejected.
   */
  get reply(): Reply {
    if (this.#reply !== undefined) return this.#reply.value;
    const remedy = 'read it after fence.transaction has resolved';
    throw new OptionError('reply', undefined, 'is not there: nothing was executed', remedy);
  }

  /** @internal */
  answer(value: Reply): void {
    this.#reply = { value };
  }
}

interface Entry {
  readonly name: RedisWriteName;
  readonly args: readonly string[];
  readonly keys: readonly string[];
  readonly queued: QueuedCommand<unknown>;
}

/** Lua hands a call no more values than this. */
const mostArguments = 7_000;
const mostCommands = 10_000;

/** Commands that one script executes after it has checked the token, all in their order, or none. */
export class RedisBatch extends Batch {
  protected readonly resource = 'redis';
  /** @internal The fence that it belongs to. */
  readonly owner: object;
  readonly #checkKey: (key: string) => void;
  readonly #entries: Entry[] = [];

  /** @internal Use `fence.transaction`. @param checkKey throws if it cannot be in a batch. */
  constructor(owner: object, checkKey: (key: string) => void) {
    super();
    this.owner = owner;
    this.#checkKey = checkKey;
  }

  /**
   * Queues a command that writes. Nothing is sent before the work has returned; its answer is in {@link QueuedCommand.reply}
   * once `fence.transaction` has resolved.
   *
   * @param name in capital letters.
   * @throws {OptionError} if it is no such command, an argument is neither a text that UTF-8 can hold nor a finite
   * number, or a key is one of the fence's own or, on a cluster, not in its slot. The batch is not executed then, not even if
   * the error is swallowed.
   */
  command<Name extends RedisWriteName>(
    name: Name,
    ...args: readonly (string | number)[]
  ): QueuedCommand<RedisReply<Name>> {
    return this.orSpoil(() => {
      checkCommand(name);
      if (this.#entries.length >= mostCommands) {
        const remedy = 'write in several transactions';
        throw new OptionError('batch', this.#entries.length, 'holds too many commands', remedy);
      }
      const texts = checkArguments(name, args);
      const keys = keysOf(name, texts);
      for (const key of keys) this.#checkKey(key);
      const queued = new QueuedCommand<RedisReply<Name>>();
      this.#entries.push({ name, args: texts, keys, queued: queued as QueuedCommand<unknown> });
      return queued;
    });
  }

  /** @internal */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** @internal */
  get recorded(): readonly Effect[] {
    return this.effects;
  }

  /** @internal Of a batch of one command. */
  answerFirst(reply: unknown): void {
    this.#entries[0]?.queued.answer(reply);
  }

  /** @internal */
  answer(replies: readonly unknown[]): void {
    for (const [index, { queued }] of this.#entries.entries()) queued.answer(replies[index]);
  }
}

function checkCommand(name: string): void {
  if (typeof name === 'string' && Object.hasOwn(writeCommands, name)) return;
  const inCapitals = String(name).toUpperCase();
  const remedy = Object.hasOwn(writeCommands, inCapitals)
    ? `write it in capital letters: ${inCapitals}`
    : `read beside the batch, and write with one of the ${Object.keys(writeCommands).length} commands that have a key in a known place, such as SET, HSET, RPUSH, XADD or PUBLISH`;
  throw new OptionError('command', name, 'is no command that a batch can hold', remedy);
}

function checkArguments(name: string, args: readonly unknown[]): readonly string[] {
  if (args.length === 0 || args.length > mostArguments) {
    const remedy = `give it 1 to ${mostArguments}`;
    throw new OptionError(name, args.length, 'is no number of arguments', remedy);
  }
  return args.map((one, index) => {
    // A lone surrogate would be stored as something else.
    const isOne = typeof one === 'string' ? one.isWellFormed() : Number.isFinite(one);
    if (isOne) return String(one);
    const remedy = 'pass texts that UTF-8 can hold, and finite numbers';
    throw new OptionError(`${name}[${index}]`, typeof one, 'is no argument of a command', remedy);
  });
}
