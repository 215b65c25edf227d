import type { ScriptCall, Written } from '../../drivers/redis/index.js';

/** One command that is a batch of its own. */
export interface Single {
  readonly name: string;
  readonly args: readonly string[];
  readonly keys: readonly string[];
}

interface Gathered {
  readonly key: string;
  readonly installed: string;
  readonly singles: Single[];
  readonly answer: Promise<Written>;
  send(): void;
}

/** The server does nothing else meanwhile. */
const mostTogether = 100;

/**
 * Batches of a single command that are asked for in one turn of the event loop, under one token, travel as one script. Each
 * is still a batch of its own: executed or refused whatever becomes of the others, in the order in which they were asked for.
 */
export class Gathering {
  readonly #run: (call: ScriptCall) => Promise<Written>;
  readonly #open = new Map<string, Gathered>();

  constructor(run: (call: ScriptCall) => Promise<Written>) {
    this.#run = run;
  }

  /** @param key of the name. @param installed what has to stand there. @returns the answer to this one, as of any script. */
  async add(key: string, installed: string, single: Single): Promise<Written> {
    const gathered = this.#gatheredOf(key, installed);
    const place = gathered.singles.push(single) - 1;
    if (gathered.singles.length >= mostTogether) gathered.send();
    const { value, shortfall } = await gathered.answer;
    const [verdict, answers] = value as [string, readonly unknown[]];
    return { value: verdict === 'each' ? answers[place] : value, shortfall };
  }

  #gatheredOf(key: string, installed: string): Gathered {
    const found = this.#open.get(key);
    if (found?.installed === installed) return found;
    // Another token's were asked for first.
    found?.send();
    let send = (): void => {};
    const singles: Single[] = [];
    const answer = new Promise<Written>((resolve, reject) => {
      send = () => {
        if (this.#open.get(key) !== gathered) return;
        this.#open.delete(key);
        this.#run(callOf(gathered)).then(resolve, reject);
      };
    });
    const gathered: Gathered = { key, installed, singles, answer, send };
    this.#open.set(key, gathered);
    process.nextTick(send);
    return gathered;
  }
}

function callOf({ key, installed, singles }: Gathered): ScriptCall {
  const keys = [key];
  const args: (string | number)[] = [installed];
  for (const single of singles) {
    keys.push(...single.keys);
    args.push(single.args.length + 1, single.name, ...single.args);
  }
  return { keys, args };
}
