/**
 * One of the processes that want the same effects: run with the place of the keys (JSON), and told what to do over the
 * channel to its parent. It imports the package by its name, so what runs is what was built, and starts fast.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { NotAppliedError, Once } from 'tenure';
import { Witness } from './witness.mjs';

/** @typedef {import('./messages.js').WorkerTask} WorkerTask */

/** So many effects are under way in one process. */
const laneCount = 12;
/** How long others wait before an attempt of one that was killed is unknown. */
const timeoutMs = 1_500;
const longestPauseMs = 12;

/** @type {import('./stores.js').ProofPlace} */
const { store, target, namespace } = JSON.parse(process.argv[2] ?? '');

async function openStore() {
  switch (store) {
    case 'postgres':
      return (await import('tenure/postgres')).postgresOnce(target, { namespace });
    case 'redis':
      return (await import('tenure/redis')).redisOnce(target, { namespace });
    case 'sqlite':
      return (await import('tenure/sqlite')).sqliteOnce(target, { namespace });
  }
}

/** @param {import('./messages.js').WorkerNews} news */
const tell = (news) => process.send?.(news);
const stay = () => {
  tell({ kind: 'staying' });
  return new Promise(() => {});
};
const pause = () => sleep(Math.random() * longestPauseMs);

const once = new Once(await openStore(), { timeoutMs });
process.on('disconnect', () => process.exit());
process.on('message', (task) => void work(/** @type {WorkerTask} */ (task)));
// What it connects to is there before anybody counts on it.
await once.read('nothing');
tell({ kind: 'ready' });

/** @param {WorkerTask} task */
async function work({ keys: all, isGuarded, staysIn, witness: path }) {
  const witness = new Witness(path);
  const counts = { foundDone: 0, repeated: 0 };
  // Each in an order of its own: they meet at some keys, and are ahead of each other at others.
  const keys = [...all].sort(() => Math.random() - 0.5);

  /**
   * @param {string} key
   * @param {import('tenure').EffectContext} [context]
   */
  const charge = async (key, context) => {
    await pause();
    if (staysIn?.key === key && !staysIn.isCharged) await stay();
    // A machine that stalls could bring it here too late; between this look and the charge nothing waits.
    if (context?.remainingMs === 0) throw new NotAppliedError('there is no time left');
    const receipt = randomUUID();
    witness.charge(key, receipt);
    if (staysIn?.key === key) await stay();
    await pause();
    return receipt;
  };

  /**
   * Until it has a receipt. It goes on after every error, as somebody who calls again and again would.
   *
   * @param {string} key
   * @returns {Promise<string>}
   */
  const guarded = async (key) => {
    for (;;) {
      try {
        return await once.do(key, (context) => charge(key, context), {
          waitMs: 60_000,
          onUnknown: async () => {
            const known = witness.find(key);
            counts[known === undefined ? 'repeated' : 'foundDone'] += 1;
            return known === undefined ? 'repeat' : { done: known.receipt };
          },
        });
      } catch {
        await pause();
      }
    }
  };

  /** @param {string} key */
  const bare = async (key) => {
    await pause();
    const known = witness.find(key);
    // A slow bank: between look and charge the other one looks as well.
    for (let step = 0; known === undefined && step < 3; step += 1) await pause();
    return known?.receipt ?? (await charge(key));
  };

  const lane = async () => {
    for (let key = keys.shift(); key !== undefined; key = keys.shift())
      tell({ kind: 'receipt', key, receipt: await (isGuarded ? guarded : bare)(key) });
  };
  await Promise.all(Array.from({ length: laneCount }, lane));
  tell({ kind: 'end', counts });
}
