import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findCompiler } from '../../../scripts/server-binaries.mjs';

const source = fileURLToPath(new URL('clock-shim.c', import.meta.url));

/**
 * A wall clock for the processes that are started with its `environment`: the machine's, plus what it was stepped by.
 * Works for programs that ask the C library for the time: Redis, PostgreSQL, Node.js.
 */
export class SteppableClock {
  /** To be added to the environment of a process. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #file: number;
  #offsetMs = 0;

  /** @param dir an empty or missing folder, which the processes can read and which outlives them. */
  constructor(dir: string) {
    mkdirSync(dir, { recursive: true });
    const library = join(dir, 'clock-shim.so');
    const offset = join(dir, 'offset');
    compile(library);
    this.environment = { LD_PRELOAD: library, TENURE_CLOCK_OFFSET_FILE: offset };
    this.#file = openSync(offset, 'w+');
    this.#write();
  }

  /** How far it is ahead of the machine's clock. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** Sets it forward or back, for running processes too, whose next look at the clock sees it. */
  step(stepMs: number): void {
    this.#offsetMs += stepMs;
    this.#write();
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(this.#offsetMs));
    writeSync(this.#file, bytes, 0, bytes.length, 0);
  }
}

/** Takes a tenth of a second, so each server compiles its own: there is nothing to share, to lock or to leave behind. */
function compile(library: string): void {
  const compiler = findCompiler();
  if (!compiler) {
    throw new Error('a C compiler is not installed; `npm test` installs it');
  }
  const args = ['-std=c11', '-O2', '-shared', '-fPIC'];
  const { status, stderr } = spawnSync(compiler, [...args, '-o', library, source], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the clock shim does not compile:\n${stderr}`);
}
