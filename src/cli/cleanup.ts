import { redactSecrets } from '../errors/index.js';
import type { Terminal } from './terminal.js';
import { hang } from './wrap.js';

/** What has to be undone at the end, whatever that end is. */
export class Cleanup {
  readonly #steps: { readonly what: string; readonly undo: () => Promise<unknown> }[] = [];

  /** @param what is left behind if `undo` fails: `the keys of ...`. */
  add(what: string, undo: () => Promise<unknown>): void {
    this.#steps.push({ what, undo });
  }

  /** Undoes everything, last things first. Never throws: each failure is told, and the others go on. */
  async run(terminal: Terminal): Promise<void> {
    for (const { what, undo } of this.#steps.splice(0).reverse()) {
      try {
        await undo();
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        const left = `left behind: ${what} (${redactSecrets(why)})`;
        terminal.note(hang(left, terminal.noteColumns, '  '));
      }
    }
  }
}
