// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A replica as a process of its own. */
export class Replica {
  /** @type {string[]} */
  lines = [];

  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.child = spawn(process.execPath, [join(import.meta.dirname, 'replica.mjs'), id]);
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => this.lines.push(...text.trim().split('\n')));
    }
    process.once('exit', () => this.child.kill('SIGKILL'));
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    this.child.kill(signal);
  }

  async end() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.signal('SIGTERM');
    await ended;
  }
}
