import type { Answered, RedisScript, RunTaker, ScriptCall } from '../../drivers/redis/index.js';
import { singleScript, singlesAt, singlesScript } from './scripts.js';

/** One command that is a batch of its own. */
export interface SingleCommand {
  readonly name: string;
  readonly args: readonly string[];
  readonly keys: readonly string[];
}

/** Who asked for one, and is told what became of it: by one of these methods, once. */
export interface Single {
  readonly command: SingleCommand;
  /** What its batch is called in messages. Of one name all are called the same. */
  readonly title: string;
  /** @param shortfall of the confirmation that was asked for. */
  done(reply: unknown, shortfall: Promise<string | undefined> | undefined): void;
  /** The server refused it; nothing was executed. @param words the server's. */
  refused(words: unknown): void;
  /** Something else is installed, or the server is no master; nothing was executed. */
  judgeAnew(): void;
  failed(error: Error): void;
}

/** Runs the script of the singles. No promise: one write at a time pays for each alone. */
type RunSingles = (script: RedisScript, call: ScriptCall, taker: RunTaker) => void;

/** The server does nothing else meanwhile. */
const mostTogether = 100;
/** Of their words, in characters. What is longer alone travels alone. */
const mostLengthTogether = 1_000_000;

/**
 * Batches of a single command that are asked for in one turn of the event loop, under one token, travel as one script. Each
 * is still a batch of its own: executed or refused whatever becomes of the others, in the order in which they were asked for.
 */
export class Gathering {
  readonly #run: RunSingles;
  /** By the key of the name. */
  readonly #open = new Map<string, Gathered>();

  constructor(run: RunSingles) {
    this.#run = run;
  }

  /** @param key of the name. @param installed what has to stand there. */
  add(key: string, installed: string, single: Single): void {
    const length = lengthOf(single.command);
    const gathered = this.#gatheredFor(key, installed, length);
    gathered.add(single, length);
    if (gathered.singles.length >= mostTogether) this.#send(key, gathered);
  }

  #gatheredFor(key: string, installed: string, length: number): Gathered {
    const found = this.#open.get(key);
    if (found?.installed === installed && found.length + length <= mostLengthTogether) return found;
    // They were asked for first.
    if (found !== undefined) this.#send(key, found);
    const gathered = new Gathered(installed);
    this.#open.set(key, gathered);
    process.nextTick(this.#sendUnlessSent, key, gathered);
    return gathered;
  }

  readonly #sendUnlessSent = (key: string, gathered: Gathered): void => {
    if (this.#open.get(key) === gathered) this.#send(key, gathered);
  };

  #send(key: string, gathered: Gathered): void {
    this.#open.delete(key);
    const isOne = gathered.singles.length === 1;
    this.#run(isOne ? singleScript : singlesScript, gathered.call(key), gathered);
  }
}

function lengthOf({ name, args }: SingleCommand): number {
  let length = name.length;
  for (const one of args) length += one.length;
  return length;
}

/** What travels as one, and who is told of its parts. */
class Gathered implements RunTaker {
  readonly installed: string;
  readonly singles: Single[] = [];
  /** Of all words of the commands. */
  length = 0;

  constructor(installed: string) {
    this.installed = installed;
  }

  add(single: Single, length: number): void {
    this.length += length;
    this.singles.push(single);
  }

  /** The call of its script: of `singleScript` for one, else of `singlesScript`. */
  call(key: string): ScriptCall {
    const keys = [key];
    const args: (string | number)[] = [this.installed];
    const isOne = this.singles.length === 1;
    for (const { command } of this.singles) {
      for (const one of command.keys) keys.push(one);
      if (!isOne) args.push(command.args.length + 1);
      args.push(command.name);
      for (const one of command.args) args.push(one);
    }
    const [first] = this.singles;
    return first === undefined ? { keys, args } : { keys, args, what: first.title };
  }

  /** By what the script returned; see there. */
  resolve({ value, shortfall }: Answered): void {
    const answer = value as readonly unknown[];
    const refused = answer[singlesAt] as 0 | readonly number[] | undefined;
    for (const [index, single] of this.singles.entries()) {
      const place = index + 1;
      const reply = answer[singlesAt + place];
      if (refused === 0) single.done(reply, shortfall);
      else if (refused === undefined) single.judgeAnew();
      else if (!refused.includes(place)) single.done(reply, shortfall);
      else if (isOfReplica(reply)) single.judgeAnew();
      else single.refused(reply);
    }
  }

  reject(error: Error): void {
    for (const single of this.singles) single.failed(error);
  }
}

/** The whole script is refused as a whole then, and goes to the master. */
function isOfReplica(words: unknown): boolean {
  return String(words).startsWith('READONLY ');
}
