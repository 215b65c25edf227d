/** What a process told. */
export interface Told {
  readonly event: string;
  /** By the kernel's clock, in ms, when it happened there. */
  readonly atMs: number;
  readonly term?: number;
  readonly state?: string;
  readonly reason?: string;
  readonly cause?: string;
  readonly error?: string;
  /** Of a crowd: who. */
  readonly candidate?: string;
}

interface Listener {
  readonly matches: (told: Told) => boolean;
  readonly resolve: (told: Told) => void;
  readonly reject: (error: Error) => void;
}

/** Nothing that is waited for takes so long, even on a busy machine. */
const patienceMs = 45_000;

/** Everything that one process tells, and those who wait for a part of it. */
export class Story {
  readonly told: Told[] = [];
  readonly #listeners = new Set<Listener>();
  #end: string | undefined;

  add(told: Told): void {
    this.told.push(told);
    for (const listener of this.#listeners) if (listener.matches(told)) listener.resolve(told);
  }

  all(event: string): Told[] {
    return this.told.filter((told) => told.event === event);
  }

  /** The first that was or will be told like this. Rejects if the process ends before, or takes too long. */
  async heard(event: string, isWanted: (told: Told) => boolean = () => true): Promise<Told> {
    const matches = (told: Told) => told.event === event && isWanted(told);
    const known = this.told.find(matches);
    if (known !== undefined) return known;
    if (this.#end !== undefined) throw new Error(`"${event}" will not be told: ${this.#end}`);
    let listener: Listener | undefined;
    const timer = setTimeout(
      () => listener?.reject(new Error(`"${event}" was not told within ${patienceMs} ms`)),
      patienceMs,
    );
    try {
      return await new Promise<Told>((resolve, reject) => {
        listener = { matches, resolve, reject };
        this.#listeners.add(listener);
      });
    } finally {
      clearTimeout(timer);
      if (listener !== undefined) this.#listeners.delete(listener);
    }
  }

  /** Nothing more will be told. */
  end(how: string): void {
    this.#end = how;
    const error = new Error(`the process ended (${how}) before it told what was waited for`);
    for (const listener of this.#listeners) listener.reject(error);
  }

  toString(): string {
    return this.told
      .map(({ atMs, ...told }) => `${atMs.toFixed(0)} ${JSON.stringify(told)}`)
      .join('\n');
  }
}
