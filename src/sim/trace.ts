import { createHash } from 'node:crypto';

/** So many lines are hashed at once. */
const batchSize = 512;

export interface TraceOptions {
  /** Called with each line. Without it nothing is kept but the hash. */
  readonly onLine?: ((line: string) => void) | undefined;
}

/**
 * What happened, a line for each event: the true time, who, what, and particulars. Two runs are the same if their lines
 * are; the hash says so without keeping them.
 */
export class Trace {
  readonly #hash = createHash('sha256');
  readonly #onLine: ((line: string) => void) | undefined;
  #batch: string[] = [];
  #lineCount = 0;
  #digest: string | undefined;

  constructor(options: TraceOptions = {}) {
    this.#onLine = options.onLine;
  }

  get lineCount(): number {
    return this.#lineCount;
  }

  add(atMs: number, who: string, what: string, particulars: string): void {
    const line = `${atMs.toFixed(3)} ${who} ${what} ${particulars}`;
    this.#lineCount += 1;
    this.#onLine?.(line);
    this.#batch.push(line);
    if (this.#batch.length >= batchSize) this.#flush();
  }

  /** Of all lines; 64 hexadecimal digits. Nothing can be added afterwards. */
  digest(): string {
    this.#flush();
    this.#digest ??= this.#hash.digest('hex');
    return this.#digest;
  }

  #flush(): void {
    if (this.#batch.length === 0) return;
    this.#hash.update(`${this.#batch.join('\n')}\n`);
    this.#batch = [];
  }
}
