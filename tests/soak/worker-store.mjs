/** Opens what one soak works on, by the package as it was built. */
import { redisStreams } from 'tenure/redis';

/**
 * @typedef {object} Side what one of two replicas has of its own
 * @property {import('tenure').Coordinator} coordinator
 * @property {import('tenure').StreamStore} streams
 *
 * @typedef {object} Place
 * @property {() => Promise<Side>} side
 * @property {Pick<import('tenure').Fence<never>, 'claim' | 'close'>} fence
 * @property {(lease: import('tenure').Lease, message: import('tenure').DeliveredMessage) => Promise<void>} apply the effect of a
 * message, under the fence
 * @property {() => Promise<void>} forget what the fence keeps of effects that cannot come again
 */

/**
 * @param {import('./run.js').WorkerSettings} settings
 * @returns {Promise<Place>}
 */
export async function openPlace(settings) {
  switch (settings.store) {
    case 'memory':
      return await memoryPlace(settings);
    case 'sqlite':
      return await sqlitePlace(settings);
    case 'redis':
      return await redisPlace(settings);
    case 'postgres':
      return await postgresPlace(settings);
  }
}

const topic = 'messages';

/** @param {import('./run.js').WorkerSettings} settings */
function streamsOf({ redisUrl, namespace, rememberMs }) {
  return redisStreams(redisUrl, { namespace, topic, dedupeWindowMs: rememberMs });
}

/** @param {import('./run.js').WorkerSettings} settings @returns {Promise<Place>} */
async function memoryPlace({ rememberMs }) {
  const { MemoryStore, MemoryStreams, memoryCoordinator, memoryFence, memoryStreams } =
    await import('tenure/memory');
  const store = new MemoryStore();
  const logs = new MemoryStreams({ dedupeWindowMs: rememberMs });
  const fence = memoryFence();
  return {
    fence,
    async side() {
      return { coordinator: memoryCoordinator(store), streams: memoryStreams(logs) };
    },
    // This fence forgets no effects, so none are recorded: the last number of each key tells as much.
    async apply(lease, { key, seq }) {
      await fence.transaction(lease, async (transaction) => transaction.set(key, seq));
    },
    async forget() {},
  };
}

/** @param {import('./run.js').WorkerSettings} settings @returns {Promise<Place>} */
async function sqlitePlace(settings) {
  const { sqliteCoordinator, sqliteFence } = await import('tenure/sqlite');
  const { url, namespace, rememberMs } = settings;
  const fence = sqliteFence(`${url.slice('sqlite:'.length)}-effects`);
  await fence.migrate();
  return {
    fence,
    side: async () => ({
      coordinator: sqliteCoordinator(url, { namespace }),
      streams: streamsOf(settings),
    }),
    async apply(lease, { key, seq, id }) {
      await fence.transaction(lease, async (open) => {
        open.exec('CREATE TABLE IF NOT EXISTS totals (key TEXT PRIMARY KEY, seq INT)');
        if (!(await fence.recordOnce(open, topic, key, seq, id))) return;
        open.run('INSERT OR REPLACE INTO totals VALUES (?, ?)', key, seq);
      });
    },
    async forget() {
      await fence.forgetEffects(rememberMs);
    },
  };
}

/** @param {import('./run.js').WorkerSettings} settings @returns {Promise<Place>} */
async function redisPlace(settings) {
  const { redisCoordinator, redisFence } = await import('tenure/redis');
  const { url, namespace, rememberMs } = settings;
  const fence = redisFence(url, { namespace, effectLifeMs: rememberMs });
  return {
    fence,
    side: async () => ({
      coordinator: redisCoordinator(url, { namespace }),
      streams: streamsOf(settings),
    }),
    async apply(lease, { key, seq, id }) {
      await fence.transaction(lease, async (batch) => {
        if (await fence.recordOnce(batch, topic, key, seq, id))
          batch.command('HSET', `totals:${namespace}`, key, seq);
      });
    },
    async forget() {},
  };
}

/** @param {import('./run.js').WorkerSettings} settings @returns {Promise<Place>} */
async function postgresPlace(settings) {
  const { postgresCoordinator, postgresFence } = await import('tenure/postgres');
  const { url, namespace, rememberMs } = settings;
  const fence = postgresFence(url);
  return {
    fence,
    side: async () => ({
      coordinator: postgresCoordinator(url, { namespace }),
      streams: streamsOf(settings),
    }),
    async apply(lease, { key, seq, id }) {
      await fence.transaction(lease, async (client) => {
        if (!(await fence.recordOnce(client, topic, key, seq, id))) return;
        const keep = 'INSERT INTO totals VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET seq = $2';
        await client.query(keep, [key, seq]);
      });
    },
    async forget() {
      await fence.forgetEffects(rememberMs);
    },
  };
}
