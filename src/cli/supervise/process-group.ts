import { listProcesses, type ProcessEntry } from './process-table.js';

/**
 * All that descends from a child which leads a session of its own: its process group, and (on Linux) whatever other
 * group of that session a shell with job control has opened. What begins a new session of its own has left.
 */
export class ProcessGroup {
  /** The process id of the child, of its group and of its session. */
  readonly id: number;

  constructor(id: number) {
    // kill(-1) would be everybody, and kill(0) ourselves.
    if (!(Number.isSafeInteger(id) && id > 1)) throw new RangeError(`${id} is no process group`);
    this.id = id;
  }

  /** To the group alone, as a terminal would. */
  forward(signal: NodeJS.Signals): void {
    send(-this.id, signal);
  }

  /** Asks everybody to stop; who stands still (SIGSTOP, Ctrl-Z) is woken, since it would hear nothing. */
  terminate(): void {
    this.#signalAll('SIGTERM');
    this.#signalAll('SIGCONT');
  }

  /** Whoever is there is dead once the kernel gets to it, standing still or not. */
  kill(): void {
    this.#signalAll('SIGKILL');
  }

  /**
   * Whether nobody is left who can do anything. The dead whom nobody has buried do not count, where it can be told; and
   * while nobody can look, nobody knows that it is gone.
   */
  get isGone(): boolean {
    const living = this.#living();
    if (living === 'unknown') return false;
    return living === undefined ? !send(-this.id, 0) : living.length === 0;
  }

  /** Who is left, for messages. */
  get pids(): readonly number[] {
    return this.#known().map(({ pid }) => pid);
  }

  #signalAll(signal: NodeJS.Signals): void {
    // Those that are known by their number do not wait until the others are found.
    send(-this.id, signal);
    const others = new Set(this.#known().map(({ group }) => group));
    others.delete(this.id);
    // Zero stands for a group outside of what can be seen here, and would mean our own.
    for (const group of others) if (group > 1) send(-group, signal);
  }

  #known(): readonly ProcessEntry[] {
    const living = this.#living();
    return living === undefined || living === 'unknown' ? [] : living;
  }

  /** `undefined` on a system that tells nobody; `unknown` if it cannot be asked now. */
  #living(): ProcessEntry[] | 'unknown' | undefined {
    try {
      return listProcesses()?.filter(
        ({ group, session, isDead }) => !isDead && (group === this.id || session === this.id),
      );
    } catch {
      return 'unknown';
    }
  }
}

/** Whether there is such a process or group. One that may not be signalled, since it became another user's, is there. */
function send(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
