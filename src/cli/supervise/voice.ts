import { visibleLines } from '../display/visible.js';
import type { Terminal } from '../terminal.js';

const prefix = 'tenure run: ';

/** What tenure itself has to say, on standard error: each line is marked, since the child writes there too. */
export class Voice {
  readonly #terminal: Terminal;
  #last = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  say(text: string): void {
    this.#last = text;
    for (const line of visibleLines(text).split('\n')) this.#terminal.note(marked(line));
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
      noteColumns: Math.max(20, terminal.noteColumns - prefix.length),
      note: (text = '') => {
        for (const line of text.split('\n')) terminal.note(marked(line));
      },
    };
  }
}

function marked(line: string): string {
  return line.startsWith(prefix) ? line : `${prefix}${line}`;
}
