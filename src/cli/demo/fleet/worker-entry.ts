/**
 * A worker process of the demonstration: does what its parent says, tells what it sees, and ends with its parent.
 */
import { realRuntime } from '../../../time/index.js';
import { openMessageStores } from '../../stores.js';
import { topicName } from '../settings.js';
import type { WorkerSink } from '../sink.js';
import { type ParentSink, parentSink } from '../sinks/parent.js';
import { ChatWorker } from '../worker.js';
import type { ToChild, ToParent, WorkerSettings } from './protocol.js';

let worker: ChatWorker | undefined;
let disconnect = async () => {};
let fromParent: ParentSink | undefined;
let frozenPid: number | undefined;

const tell = (message: ToParent) => {
  if (process.connected) process.send?.(message);
};

async function join({ id, url, namespace, sink: remote }: WorkerSettings): Promise<void> {
  const stores = await openMessageStores(url, namespace);
  const coordinator = stores.openCoordinator();
  const streams = stores.openStreams(topicName);
  const sink = await openSink(remote);
  disconnect = async () => {
    await Promise.all([coordinator.close(), streams.close(), sink.close()]);
  };
  worker = new ChatWorker({
    id,
    runtime: realRuntime,
    coordinator,
    streams,
    sink,
    tell: (news) => tell({ type: 'news', news }),
  });
  await worker.start();
  tell({ type: 'joined' });
}

async function openSink(remote: WorkerSettings['sink']): Promise<WorkerSink> {
  if (remote !== undefined) return (await import('../sinks/postgres.js')).openPostgresSink(remote);
  fromParent = parentSink((request) => tell({ type: 'sink', ...request }));
  return fromParent;
}

async function leave(): Promise<void> {
  await worker?.stop();
  await disconnect();
  process.disconnect();
}

/** It will find its parent gone, and end as we do. */
function wake(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch {
    // Somebody was faster.
  }
}

process.on('message', (message: ToChild) => {
  if (message.type === 'sink') fromParent?.settle(message);
  else if (message.type === 'report') tell({ type: 'held', shards: worker?.heldShards ?? [] });
  else if (message.type === 'leave') void leave();
  else if (message.type === 'frozen') frozenPid = message.pid;
  else
    join(message.settings).catch((error: unknown) =>
      tell({ type: 'failed', words: error instanceof Error ? error.message : String(error) }),
    );
});
process.on('disconnect', () => {
  if (frozenPid !== undefined && frozenPid !== process.pid) wake(frozenPid);
  process.exit();
});
// Ctrl-C reaches the whole group; the parent decides what becomes of it.
process.on('SIGINT', () => {});
