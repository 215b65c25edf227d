import { spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';
import type { Unsubscribe } from '../events/index.js';

/**
 * Calls `gone` when whoever read our standard output, a pipe, has closed it.
 *
 * Node tells only whoever writes, and a watch may have nothing to write for hours. GNU's `tail -f` polls its output and
 * dies of a closed one by SIGPIPE; it shares ours, prints nothing, and ends with us. Where it is not to be had, or is
 * another one that ends in another way, nothing is told.
 */
export function watchReader(gone: () => void): Unsubscribe {
  if (!fstatSync(process.stdout.fd).isFIFO()) return () => {};
  const words = ['-f', `--pid=${process.pid}`, '/dev/null'];
  const lookout = spawn('tail', words, {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'inherit', 'ignore'],
  });
  lookout.on('error', () => {});
  lookout.on('exit', (_status, signal) => {
    if (signal === 'SIGPIPE') gone();
  });
  lookout.unref();
  return () => {
    lookout.removeAllListeners('exit');
    lookout.kill();
  };
}
