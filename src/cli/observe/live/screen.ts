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

/** Of a process, what a screen needs. */
export type ScreenOwner = Pick<NodeJS.Process, 'stdout' | 'pid' | 'kill'> &
  Pick<NodeJS.EventEmitter, 'on' | 'off'>;

export function takeScreen(owner: ScreenOwner = process): Screen {
  const { stdout } = owner;
  stdout.write(enter);
  const shell = lendToShell(owner);
  return {
    get size() {
      return { columns: stdout.columns || 80, rows: stdout.rows || 24 };
    },
    // Line by line over what was there: clearing first would flicker.
    draw: (lines) => {
      // A timer that came due meanwhile fires before the signal to go on is heard.
      if (!shell.hasIt()) stdout.write(`\x1b[H${lines.join('\x1b[K\r\n')}\x1b[K\x1b[J`);
    },
    onResize: (resized) => {
      stdout.on('resize', resized);
      return () => stdout.off('resize', resized);
    },
    leave: () => {
      shell.end();
      stdout.write(exit);
    },
  };
}

/** Who is stopped by Ctrl-Z, or ended by Ctrl-\, leaves the terminal to the shell as it was. The next draw fills it again. */
function lendToShell(owner: ScreenOwner): { hasIt(): boolean; end: Unsubscribe } {
  const { stdout, pid } = owner;
  let isLent = false;
  const stop = () => {
    isLent = true;
    stdout.write(exit);
    owner.kill(pid, 'SIGSTOP');
  };
  const goOn = () => {
    isLent = false;
    stdout.write(enter);
  };
  const quit = () => {
    owner.off('SIGQUIT', quit);
    stdout.write(exit);
    owner.kill(pid, 'SIGQUIT');
  };
  const listeners = { SIGTSTP: stop, SIGCONT: goOn, SIGQUIT: quit };
  for (const [signal, listener] of Object.entries(listeners)) owner.on(signal, listener);
  const end = () => {
    for (const [signal, listener] of Object.entries(listeners)) owner.off(signal, listener);
  };
  return { hasIt: () => isLent, end };
}
