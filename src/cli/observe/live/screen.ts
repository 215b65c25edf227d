import type { Unsubscribe } from '../../../events/index.js';
import type { FrameSize } from './frame.js';

/** The whole terminal, as long as it is taken. */
export interface Screen {
  readonly size: FrameSize;
  draw(lines: readonly string[]): void;
  onResize(resized: () => void): Unsubscribe;
  /** Gives the terminal back as it was. */
  leave(): void;
}

const enter = '\x1b[?1049h\x1b[?25l\x1b[2J';
const exit = '\x1b[?25h\x1b[?1049l';

/** Whether the answer goes to a terminal that can be drawn on. */
export function canDraw(): boolean {
  return process.stdout.isTTY === true && process.env.TERM !== 'dumb';
}

export function takeScreen(): Screen {
  const { stdout } = process;
  stdout.write(enter);
  return {
    get size() {
      return { columns: stdout.columns || 80, rows: stdout.rows || 24 };
    },
    // Line by line over what was there: clearing first would flicker.
    draw: (lines) => stdout.write(`\x1b[H${lines.join('\x1b[K\r\n')}\x1b[K\x1b[J`),
    onResize: (resized) => {
      stdout.on('resize', resized);
      return () => stdout.off('resize', resized);
    },
    leave: () => stdout.write(exit),
  };
}
