import type { RedisClient, ReplyTaker } from './client.js';

/*
 * A command of ioredis without what nobody asks of it here: its promise, its copies of the arguments, its callbacks. One write
 * at a time on loopback takes some 30 microseconds, and these are some of them.
 *
 * `Command` is exported to be sent by `sendCommand`, and may be extended; what is replaced here is looked at before it is
 * believed, and a copy of ioredis that makes its commands otherwise is used by `call` alone.
 */

/** The slice of the class `Command` that is built upon. */
interface IoredisCommand {
  transformReply(reply: unknown): unknown;
}

type CommandConstructor = new (name: string, args: [], options: object) => IoredisCommand;

type Send = NonNullable<RedisClient['sendTaking']>;

/** Gives a client of this copy of ioredis its `sendTaking`. It is the same object. */
export function withSending(client: RedisClient, ioredis: object): RedisClient {
  const { Redis, Command } = ioredis as { Redis?: unknown; Command?: unknown };
  if (typeof Redis !== 'function' || !(client instanceof Redis)) return client;
  const prepare = preparing(Command);
  const { sendCommand } = client as { sendCommand?: (command: object) => unknown };
  if (prepare === undefined || typeof sendCommand !== 'function') return client;
  const sendTaking: Send = (name, args, taker) => {
    sendCommand.call(client, prepare(name, args, taker));
  };
  return Object.assign(client, { sendTaking });
}

type Prepare = (name: string, args: readonly (string | number)[], taker: ReplyTaker) => object;

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
  class TakenCommand extends Command {
    readonly #text: string;
    readonly #taker: ReplyTaker;

    constructor(name: string, args: readonly (string | number)[], taker: ReplyTaker) {
      super(name, [], { replyEncoding: 'utf8' });
      this.#text = textOf(name, args);
      this.#taker = taker;
    }

    /** Called by the constructor above; would put a promise in the place of the two methods below. */
    initPromise(): void {}

    resolve(reply: unknown): void {
      this.#taker.resolve(this.transformReply(reply));
    }

    reject(error: Error): void {
      this.#taker.reject(error);
    }

    toWritable(): string {
      return this.#text;
    }
  }
  const probe = new TakenCommand('ping', [], { resolve() {}, reject() {} });
  const isKnown =
    typeof probe.transformReply === 'function' &&
    !['initPromise', 'resolve', 'reject', 'toWritable'].some((name) => Object.hasOwn(probe, name));
  return isKnown ? (name, args, taker) => new TakenCommand(name, args, taker) : undefined;
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
