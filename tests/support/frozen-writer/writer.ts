import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { FencingToken } from '../../../src/fences/index.js';
import type { WriterNews, WriterTask } from './messages.js';
import type { LogSide } from './store.js';

/** Does one task after the other, until the parent lets go. */
export async function serveRounds(side: LogSide): Promise<void> {
  process.on('disconnect', () => process.exit());
  process.on('message', async (task: WriterTask) => {
    const outcome = await doRound(side, task);
    tell({ round: task.round, at: 'end', outcome });
  });
  tell({ round: 0, at: 'ready' });
}

function tell(news: WriterNews): void {
  process.send?.(news);
}

async function doRound(side: LogSide, task: WriterTask): Promise<string> {
  const token = tokenOf(task.name, task.term);
  try {
    if (task.isFenced) await side.claim(token);
    await side.append(token, task.isFenced, async () => {});
    return await writeFrozen(side, token, task);
  } catch (error) {
    return (error as Error).name;
  }
}

/** It believes that it owns the name all the time: nothing here looks at a clock. */
async function writeFrozen(side: LogSide, token: FencingToken, task: WriterTask): Promise<string> {
  const { round, isFenced, point } = task;
  let isWoken = false;
  const woken = new Promise<void>((resolve) => {
    process.once('SIGCONT', () => {
      isWoken = true;
      resolve();
    });
  });
  const freeze = async () => {
    tell({ round, at: 'ready' });
    await woken;
  };
  if (point === 'before') await freeze();
  if (point === 'anywhere') {
    tell({ round, at: 'ready' });
    while (!isWoken) {
      await side.append(token, isFenced, async () => {});
      // A resource that answers at once would leave no turn of the event loop in which to hear the signal.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  await side.append(token, isFenced, point === 'inside' ? freeze : async () => {});
  return 'accepted';
}
