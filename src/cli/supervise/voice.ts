import { visibleLines } from '../display/visible.js';
import type { Terminal } from '../terminal.js';

/** What tenure itself has to say, on standard error: each line is marked, since its children write there too. */
export class Voice {
  readonly #terminal: Terminal;
  readonly #prefix: string;
  #last = '';

  /** @param command the one that speaks: `run`. */
  constructor(terminal: Terminal, command: string) {
    this.#terminal = terminal;
    this.#prefix = `tenure ${command}: `;
  }

  say(text: string): void {
    this.#last = text;
    for (const line of visibleLines(text).split('\n')) this.#terminal.note(this.#marked(line));
  }

  /** What to do next, and where what went wrong went wrong. */
  advise(next: string, against?: string): void {
    if (against !== undefined) this.say(`  against: ${against}`);
    this.say(`  next:    ${next}`);
  }

  /** For what comes again and again: not twice in a row. */
  sayOnce(text: string): void {
    if (text !== this.#last) this.say(text);
  }

  /** The terminal, for what is written by others on our behalf. */
  get asTerminal(): Terminal {
    const terminal = this.#terminal;
    return {
      ...terminal,
      noteColumns: Math.max(20, terminal.noteColumns - this.#prefix.length),
      note: (text = '') => {
        for (const line of text.split('\n')) terminal.note(this.#marked(line));
      },
    };
  }

  #marked(line: string): string {
    return line.startsWith(this.#prefix) ? line : `${this.#prefix}${line}`;
  }
}
