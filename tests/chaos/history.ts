import { closeSync, openSync, writeSync } from 'node:fs';

/** One thing that happened: a line of the history file. */
export interface Line {
  /** By the kernel's monotonic clock, in ms: the same clock in every process, which nobody can set. */
  readonly atMs: number;
  /** The incarnation that tells it (`b.3`: the third process of seat b), or `nemesis`, or `run`. */
  readonly who: string;
  readonly event: string;
  /** Of the election. */
  readonly name?: string;
  readonly term?: number;
  readonly [fact: string]: unknown;
}

/** The kernel's monotonic clock in ms. */
export const kernelMs = (): number => Number(process.hrtime.bigint()) / 1e6;

interface Listener {
  readonly isWanted: (line: Line) => boolean;
  readonly resolve: (line: Line) => void;
}

/** Everything that was told, in the order in which it came in, and on disk as it comes. */
export class History {
  readonly lines: Line[] = [];
  readonly #file: number | undefined;
  readonly #listeners = new Set<Listener>();

  /** @param path of the file, which is written anew. Default: none is written. */
  constructor(path?: string) {
    this.#file = path === undefined ? undefined : openSync(path, 'w');
  }

  add(line: Line): void {
    this.lines.push(line);
    if (this.#file !== undefined) writeSync(this.#file, `${JSON.stringify(line)}\n`);
    for (const listener of this.#listeners) if (listener.isWanted(line)) listener.resolve(line);
  }

  note(who: string, event: string, facts: object = {}): void {
    this.add({ atMs: kernelMs(), who, event, ...facts });
  }

  all(event: string): Line[] {
    return this.lines.filter((line) => line.event === event);
  }

  /** The next line like this, from now on; `undefined` if none comes in time. */
  async next(isWanted: (line: Line) => boolean, withinMs: number): Promise<Line | undefined> {
    let listener: Listener | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Line | undefined>((resolve) => {
        listener = { isWanted, resolve };
        this.#listeners.add(listener);
        timer = setTimeout(() => resolve(undefined), withinMs);
      });
    } finally {
      clearTimeout(timer);
      if (listener !== undefined) this.#listeners.delete(listener);
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}
