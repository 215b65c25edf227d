import { Worker } from 'node:worker_threads';
import { realRuntime, withDeadline } from '../../time/index.js';
import type { FromThread, ThreadStart } from './messages.js';
import type { RunningThread, ThreadListener } from './thread-link.js';

/** It closes a connection and is gone; whatever holds it up is not waited for. */
const closeLimitMs = 1_000;

/** Starts the renewing thread as a worker of this process. It never keeps the process alive. */
export function startWorkerThread(start: ThreadStart, listener: ThreadListener): RunningThread {
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
    workerData: start,
    name: 'tenure-renewal',
    ...execArgv(),
  });
  let failure: Error | undefined;
  worker.on('message', (message: FromThread) => listener.heard(message));
  worker.on('error', (error) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  const gone = new Promise<void>((resolve) => {
    worker.once('exit', (code) => {
      resolve();
      listener.ended(failure ?? new Error(`it ended by itself, with code ${code}`));
    });
  });
  // Only now: to listen for its messages refs it again.
  worker.unref();
  return {
    post: (message) => worker.postMessage(message),
    async close() {
      worker.postMessage({ type: 'close' });
      try {
        await withDeadline(realRuntime, closeLimitMs, 'the end of a thread', gone);
      } catch {
        await worker.terminate();
      }
    },
  };
}

/** As this process's own, which is the default; but --input-type is refused where a file is run. */
function execArgv(): { execArgv?: string[] } {
  return process.execArgv.some((flag) => flag.startsWith('--input-type')) ? { execArgv: [] } : {};
}
