import { createHash, type Hash } from 'node:crypto';

/** So many lines are hashed at once. */
const batchSize = 512;

export interface TraceOptions {
  /** Called with each line. Without it nothing is kept but the hash. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Whether a digest will be asked for. Default `true`; `false` spares the time that lines take which nobody reads. */
  readonly isHashed?: boolean | undefined;
}

/**
 * What happened, a line for each event: the true time, who, what, and particulars. Two runs are the same if their lines
 * are; the hash says so without keeping them.
 */
export class Trace {
  /** Whether a line goes anywhere; one that does not is only counted. */
  readonly isKept: boolean;
  readonly #hash: Hash | undefined;
  readonly #onLine: ((line: string) => void) | undefined;
  #batch: string[] = [];
  #lineCount = 0;
  #digest: string | undefined;

  constructor({ onLine, isHashed = true }: TraceOptions = {}) {
    this.#onLine = onLine;
    this.#hash = isHashed ? createHash('sha256') : undefined;
    this.isKept = isHashed || onLine !== undefined;
  }

  /** Somebody reads the lines. */
  get isShown(): boolean {
    return this.#onLine !== undefined;
  }

  get lineCount(): number {
    return this.#lineCount;
  }

  add(atMs: number, who: string, what: string, particulars: string): void {
    this.#lineCount += 1;
    if (!this.isKept) return;
    const line = `${atMs.toFixed(3)} ${who} ${what} ${particulars}`;
    this.#onLine?.(line);
    if (this.#hash === undefined) return;
    this.#batch.push(line);
    if (this.#batch.length >= batchSize) this.#flush();
  }

  /** Of all lines; 64 hexadecimal digits, or none if no hash was wanted. Nothing can be added afterwards. */
  digest(): string {
    this.#flush();
    this.#digest ??= this.#hash?.digest('hex') ?? '';
    return this.#digest;
  }

  #flush(): void {
    if (this.#batch.length === 0) return;
    this.#hash?.update(`${this.#batch.join('\n')}\n`);
    this.#batch = [];
  }
}
