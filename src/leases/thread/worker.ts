/**
 * Where the renewing thread begins; started by `worker-thread.ts`. Only here the store's module is loaded anew, so that
 * this thread has a connection of its own.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Coordinator, CoordinatorRecipe } from '../../coordinators/index.js';
import { runtimeWithOrigin } from '../../time/index.js';
import { endProcess } from './end-process.js';
import type { ThreadStart, ToThread } from './messages.js';
import { ThreadSide } from './thread-side.js';
import { toWire } from './wire-error.js';

async function run(port: MessagePort, start: ThreadStart): Promise<void> {
  try {
    serve(port, start, await make(start.recipe));
  } catch (error) {
    port.postMessage({ type: 'refused', error: toWire(error) });
  }
}

function serve(port: MessagePort, start: ThreadStart, coordinator: Coordinator): void {
  const side = new ThreadSide({
    runtime: runtimeWithOrigin(start.clockOriginMs),
    coordinator,
    start,
    post: (message) => port.postMessage(message),
    endProcess,
  });
  port.on('message', (message: ToThread) => {
    if (message.type === 'close') void side.close().finally(() => port.close());
    else side.receive(message);
  });
  port.postMessage({ type: 'ready' });
}

async function make({ module, factory, args }: CoordinatorRecipe): Promise<Coordinator> {
  const exported: Record<string, unknown> = await import(module);
  const create = exported[factory];
  if (typeof create !== 'function') throw new Error(`${module} exports no function ${factory}`);
  return create(...args);
}

if (parentPort === null) throw new Error('this module is the start of a worker thread');
await run(parentPort, workerData);
