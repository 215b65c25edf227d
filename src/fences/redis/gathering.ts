import type { ScriptCall } from '../../drivers/redis/index.js';

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
export type RunSingles = (
  call: ScriptCall,
  resolve: (answered: Answered) => void,
  reject: (error: Error) => void,
) => void;

interface Gathered {
  readonly installed: string;
  readonly singles: Single[];
  readonly keys: string[];
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
    this.#run(
      gathered,
      ({ value, shortfall }) => tell(singles, value, shortfall),
      (error) => {
        for (const single of singles) single.failed(error);
      },
    );
  }
}

/** @param value what the script returned; see there. */
function tell(
  singles: readonly Single[],
  value: unknown,
  shortfall: Promise<string | undefined> | undefined,
): void {
  if (!Array.isArray(value)) {
    for (const single of singles) single.judgeAnew();
    return;
  }
  const [refused, ...replies] = value as [0 | readonly number[], ...unknown[]];
  for (const [index, single] of singles.entries()) {
    if (refused !== 0 && refused.includes(index + 1)) single.refused(replies[index]);
    else single.done(replies[index], shortfall);
  }
}
