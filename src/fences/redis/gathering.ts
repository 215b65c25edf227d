import type { RedisScript, ScriptCall } from '../../drivers/redis/index.js';
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
  /** @param shortfall of the confirmation that was asked for. */
  done(reply: unknown, shortfall: Promise<string | undefined> | undefined): void;
  /** The server refused it; nothing was executed. @param words the server's. */
  refused(words: unknown): void;
  /** Something else is installed; nothing was executed. */
  judgeAnew(): void;
  failed(error: Error): void;
}

interface Answered {
  readonly value: unknown;
  readonly shortfall: Promise<string | undefined> | undefined;
}

/** Runs the script of the singles. No promise: one write at a time pays for each alone. */
type RunSingles = (
  script: RedisScript,
  call: ScriptCall,
  resolve: (answered: Answered) => void,
  reject: (error: Error) => void,
) => void;

interface Gathered {
  readonly installed: string;
  readonly singles: Single[];
  readonly keys: string[];
  /** Each with its length before it. */
  readonly args: (string | number)[];
}

/** The server does nothing else meanwhile. */
const mostTogether = 100;

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
    const gathered = this.#gatheredOf(key, installed);
    const { name, args, keys } = single.command;
    gathered.singles.push(single);
    for (const one of keys) gathered.keys.push(one);
    gathered.args.push(args.length + 1, name);
    for (const one of args) gathered.args.push(one);
    if (gathered.singles.length >= mostTogether) this.#send(key, gathered);
  }

  #gatheredOf(key: string, installed: string): Gathered {
    const found = this.#open.get(key);
    if (found?.installed === installed) return found;
    // Another token's were asked for first.
    if (found !== undefined) this.#send(key, found);
    const gathered = { installed, singles: [], keys: [key], args: [installed] };
    this.#open.set(key, gathered);
    process.nextTick(this.#sendUnlessSent, key, gathered);
    return gathered;
  }

  readonly #sendUnlessSent = (key: string, gathered: Gathered): void => {
    if (this.#open.get(key) === gathered) this.#send(key, gathered);
  };

  #send(key: string, gathered: Gathered): void {
    this.#open.delete(key);
    const { singles } = gathered;
    const tellAll = ({ value, shortfall }: Answered) => tell(singles, value, shortfall);
    const failAll = (error: Error) => {
      for (const single of singles) single.failed(error);
    };
    const [first] = singles;
    if (singles.length > 1 || first === undefined)
      this.#run(singlesScript, gathered, tellAll, failAll);
    else {
      const { name, args } = first.command;
      const call = { keys: gathered.keys, args: [gathered.installed, name, ...args] };
      this.#run(singleScript, call, tellAll, failAll);
    }
  }
}

/** @param value what the script returned; see there. */
function tell(
  singles: readonly Single[],
  value: unknown,
  shortfall: Promise<string | undefined> | undefined,
): void {
  const answer = value as readonly unknown[];
  const refused = answer[singlesAt] as 0 | readonly number[] | undefined;
  for (let place = 1; place <= singles.length; place++) {
    const single = singles[place - 1] as Single;
    const reply = answer[singlesAt + place];
    if (refused === 0) single.done(reply, shortfall);
    else if (refused === undefined) single.judgeAnew();
    else if (refused.includes(place)) single.refused(reply);
    else single.done(reply, shortfall);
  }
}
