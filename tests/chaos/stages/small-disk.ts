import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { serverEnvironment } from '../../support/servers/process.js';

/** Why {@link SmallDisk} cannot be had here; `undefined` if it can. */
export const noSmallDisk: string | undefined =
  process.getuid?.() === 0 ? undefined : 'a file system in memory can be mounted by root alone';

/** A file system in memory that can be filled. It is gone with this process, however that ends. */
export class SmallDisk {
  readonly path: string;
  readonly #shell: ChildProcess;

  private constructor(path: string) {
    this.path = path;
    // Its end of the pipe closes when this process is gone.
    const script = 'while read -r line; do :; done; umount -l -- "$1"';
    this.#shell = spawn('/bin/sh', ['-c', script, 'disk', path], {
      cwd: '/',
      detached: true,
      env: serverEnvironment(),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.unref();
    (this.#shell.stdin as Socket).unref();
  }

  static mount(path: string, sizeMiB: number): SmallDisk {
    mkdirSync(path, { recursive: true });
    const options = ['-t', 'tmpfs', '-o', `size=${sizeMiB}m`, 'tenure-chaos', path];
    execFileSync('mount', options, { env: serverEnvironment() });
    return new SmallDisk(path);
  }

  /** Leaves not a byte. */
  fill(): void {
    for (let chunk = 1 << 20; chunk > 0; chunk >>= 4) this.#fillBy(chunk);
  }

  free(): void {
    rmSync(this.#filler, { force: true });
  }

  /** @throws if something there is still in use. */
  async unmount(): Promise<void> {
    const ended = new Promise((resolve) => this.#shell.once('close', resolve));
    this.#shell.ref();
    this.#shell.stdin?.end();
    await ended;
  }

  get #filler(): string {
    return join(this.path, 'filler');
  }

  #fillBy(chunk: number): void {
    const bytes = Buffer.alloc(chunk);
    const { bsize } = statfsSync(this.path);
    try {
      while (statfsSync(this.path).bavail * bsize > 0)
        writeFileSync(this.#filler, bytes, { flag: 'a' });
    } catch {
      // Less, then.
    }
  }
}
