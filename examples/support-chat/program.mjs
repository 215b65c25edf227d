// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const patienceMs = 30_000;

/** One of the programs, as a process of its own. */
export class Program {
  /** @type {string[]} */
  lines = [];

  /** @param {string} file @param {string} argument */
  constructor(file, argument) {
    this.child = spawn(process.execPath, [join(import.meta.dirname, file), argument]);
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => this.lines.push(...text.trim().split('\n')));
    }
    process.once('exit', () => this.child.kill('SIGKILL'));
  }

  /** Waits for a line of its output. @param {RegExp} pattern @returns {Promise<string>} what matched the first group */
  async says(pattern) {
    const startedMs = performance.now();
    while (performance.now() - startedMs < patienceMs && this.child.exitCode === null) {
      for (const line of this.lines) {
        const match = pattern.exec(line);
        if (match) return match[1] ?? line;
      }
      await sleep(20);
    }
    throw new Error(`waited in vain for ${pattern} among:\n${this.lines.join('\n')}`);
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    this.child.kill(signal);
  }

  async end() {
    const ended = once(this.child, 'exit');
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.signal('SIGTERM');
    await ended;
  }
}
