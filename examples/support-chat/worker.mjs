// @ts-check
/** Answers customers: `node examples/support-chat/worker.mjs anna`. Start several, each with a name of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { StaleTermError, StreamWorker } from 'tenure';
import { sendMail } from './mail.mjs';
import { group } from './settings.mjs';
import { openDatabase, openFleet } from './stores.mjs';

const id = process.argv[2] ?? `worker-${process.pid}`;
const thinkingMs = 300;

const { pool, fence, close: closeDatabase } = await openDatabase();
const { leases, topic, close: closeFleet } = openFleet(id);

/**
 * @param {import('tenure').DeliveredMessage<{ text: string }>} message
 * @param {import('tenure').HandlerContext} context
 */
async function answer({ key: customer, seq, shard, payload }, { lease }) {
  // Plays a question to a model or a colleague. It goes on although the shard may be lost meanwhile; something that
  // can be cancelled would take the context's `signal`.
  await sleep(thinkingMs);
  const text = `Thank you for writing “${payload.text}”. We are looking into it.`;

  // The answer, and the check that the shard is still ours, commit together or not at all. If the message comes
  // again, because its worker died before it could say that it was done, then the answer is already there.
  await fence.transaction(lease, (client) =>
    client.query(
      `INSERT INTO answers (run_id, seq, text, worker, shard, term) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (run_id, seq) DO NOTHING`,
      [customer, seq, text, id, shard, lease.term],
    ),
  );

  // No transaction covers this: it may be asked for twice. The key, which names the effect, makes that harmless.
  await sendMail(pool, { idempotencyKey: `answers/${customer}/${seq}`, to: customer, text });
  say(`answered ${customer} #${seq}`);
}

const worker = new StreamWorker({ topic, leases, group, fence, handler: reportRefusal(answer) });

worker.events.on('shardsClaimed', ({ shards }) => {
  say(`took ${shards.length} shards: ${shards.map(({ shard }) => shard).join(' ')}`);
});
worker.events.on('shardDrained', ({ shard, to }) =>
  say(`gave shard ${shard} to ${to ?? 'anybody'}`),
);
worker.events.on('shardLost', ({ shard, reason }) => say(`lost shard ${shard}: ${reason}`));
worker.events.on('shardsFailed', ({ during, error }) => say(`cannot ${during}: ${error}`));
worker.events.on('storeFailed', ({ operation, error }) => say(`cannot ${operation}: ${error}`));
worker.events.on('handlerFailed', ({ key, seq, error }) =>
  say(`will try ${key} #${seq} again: ${error}`),
);

await worker.start();
say(`is ready, process ${process.pid}`);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await worker.stop();
    await closeFleet();
    await closeDatabase();
    say('has stopped');
  });
}

/** @param {typeof answer} handler @returns {typeof answer} */
function reportRefusal(handler) {
  return async (message, context) => {
    try {
      return await handler(message, context);
    } catch (error) {
      const { key, seq } = message;
      if (error instanceof StaleTermError) say(`REFUSED at ${key} #${seq}: ${error.message}`);
      throw error;
    }
  };
}

/** @param {string} line */
function say(line) {
  console.log(`${id} ${line}`);
}
