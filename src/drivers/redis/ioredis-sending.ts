import { tracingChannel } from 'node:diagnostics_channel';
import { callTaking, type RedisClient, type ReplyTaker } from './client.js';

/*
 * A command of ioredis without what nobody asks of it here: its promise, its copies of the arguments, its callbacks. One write
 * at a time on loopback takes some 30 microseconds, and these are some of them.
 *
 * `Command` is exported to be sent by `sendCommand`, and may be extended; what is replaced here is looked at before it is
 * believed, and a copy of ioredis that makes its commands otherwise is used by `call` alone.
 */

type Words = (string | number)[];

/** The slice of the class `Command` that is built upon. */
interface IoredisCommand {
  args: Words;
  transformReply(reply: unknown): unknown;
}

type CommandConstructor = new (name: string, args: [], options: object) => IoredisCommand;

type Send = NonNullable<RedisClient['sendTaking']>;

/** Whoever listens here is told of the promise of each command. */
const traces = tracingChannel('ioredis:command');

/** Gives a client of this copy of ioredis its `sendTaking`. It is the same object. */
export function withSending(client: RedisClient, ioredis: object): RedisClient {
  const { Redis, Command } = ioredis as { Redis?: unknown; Command?: unknown };
  if (typeof Redis !== 'function' || !(client instanceof Redis)) return client;
  const prepare = preparing(Command);
  const { sendCommand } = client as { sendCommand?: (command: object) => unknown };
  if (prepare === undefined || typeof sendCommand !== 'function') return client;
  const sendTaking: Send = (name, args, taker) => {
    if (traces.hasSubscribers) callTaking(client, name, args, taker);
    else sendCommand.call(client, prepare(name, args, taker));
  };
  return Object.assign(client, { sendTaking });
}

type Prepare = (name: string, args: Words, taker: ReplyTaker) => object;

const prepared = new WeakMap<object, { readonly prepare: Prepare | undefined }>();

/** By the class `Command`; `undefined`: it is not as we know it. */
function preparing(Command: unknown): Prepare | undefined {
  if (typeof Command !== 'function') return undefined;
  let known = prepared.get(Command);
  if (known === undefined) {
    known = { prepare: prepareBy(Command as CommandConstructor) };
    prepared.set(Command, known);
  }
  return known.prepare;
}

function prepareBy(Command: CommandConstructor): Prepare | undefined {
  class BareCommand extends Command {
    /** Called by the constructor; would make a promise, and put its two functions in the place of ours. */
    initPromise(): void {}
  }

  class TakenCommand extends BareCommand {
    /** Own functions that need no `this`, as those of ioredis: who measures commands calls them without it. */
    readonly resolve: (reply: unknown) => void;
    readonly reject: (error: Error) => void;
    readonly #text: string;
    #taker: ReplyTaker | undefined;

    constructor(name: string, args: Words, taker: ReplyTaker) {
      super(name, [], { replyEncoding: 'utf8' });
      // For those who look at it on its way; nothing here reads them again.
      this.args = args;
      this.#text = textOf(name, args);
      this.#taker = taker;
      this.resolve = (reply) => this.#told()?.resolve(this.transformReply(reply));
      this.reject = (error) => this.#told()?.reject(error);
    }

    toWritable(): string {
      return this.#text;
    }

    /** Lets go of who is told: an old command that held it would make all that it leads to old, for the garbage collector. */
    #told(): ReplyTaker | undefined {
      const taker = this.#taker;
      this.#taker = undefined;
      return taker;
    }
  }

  if (!hasMethods(Command.prototype, ['initPromise', 'toWritable', 'transformReply']))
    return undefined;
  const bare = new BareCommand('ping', [], {});
  const isSetElsewhere = ['resolve', 'reject', 'toWritable', 'promise'].some((name) =>
    Object.hasOwn(bare, name),
  );
  return isSetElsewhere ? undefined : (name, args, taker) => new TakenCommand(name, args, taker);
}

function hasMethods(prototype: object, names: readonly string[]): boolean {
  return names.every((name) => typeof Reflect.get(prototype, name) === 'function');
}

/** What stands before a word of that many bytes. */
const lengths = Array.from({ length: 256 }, (_, bytes) => lengthLine(bytes));

function lengthLine(bytes: number): string {
  return `\r\n$${bytes}\r\n`;
}

/** As it goes over the socket; in few pieces, each of which costs as much as a short word. */
function textOf(name: string, args: readonly (string | number)[]): string {
  let text = `*${args.length + 1}${lengthLine(name.length)}${name}`;
  for (const arg of args) {
    const word = typeof arg === 'string' ? arg : String(arg);
    const bytes = Buffer.byteLength(word);
    text += (lengths[bytes] ?? lengthLine(bytes)) + word;
  }
  return `${text}\r\n`;
}
