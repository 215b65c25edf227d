/** What replicas do all day: leases, elections and ordered messages, over and over. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Elections, Leases, StreamWorker, Topic } from 'tenure';

const ttlMs = 6_000;
const shardCount = 8;
const keyCount = 40;
const publishEveryMs = 200;
const steadyCount = 20;
const turningCount = 50;
/** So many that what remembers some thousands of names is full, and begins anew, often enough to be no slope. */
const freshCount = 10;
const shortElectionCount = 4;
/** A store keeps the last hundred terms of each election: a soak begins with all of them there. */
const keptTermCount = 100;

/**
 * @typedef {object} Replica
 * @property {string} id
 * @property {import('./worker-store.mjs').Side} side
 * @property {Leases} leases
 * @property {Elections} elections
 * @property {import('tenure').Election} payments the one that is led all the time
 * @property {Topic} topic
 *
 * @typedef {object} Context
 * @property {import('./worker-store.mjs').Place} place
 * @property {import('./gate.mjs').Gate} gate
 * @property {AbortSignal} signal
 * @property {import('./tally.mjs').Tally} tally
 */

/** @param {string} id @param {import('./worker-store.mjs').Side} side @returns {Replica} */
export function replicaOn(id, side) {
  const leases = new Leases(side.coordinator, { id, ttlMs });
  const elections = new Elections(leases);
  return {
    ...{ id, side, leases, elections },
    payments: elections.election('payments', { firstPauseMs: 100, longestPauseMs: 500 }),
    topic: new Topic(side.streams, { shardCount }),
  };
}

/** @param {Context} context @param {number} everyMs @param {(count: number) => Promise<void>} act */
async function repeatedly({ gate, signal, tally }, everyMs, act) {
  for (let count = 0; !signal.aborted; count++) {
    await gate.through(() => act(count)).catch((error) => tally.trouble(error));
    await sleep(everyMs, undefined, { signal }).catch(() => {});
  }
}

/** @param {readonly [Replica, Replica]} replicas @param {number} count */
const inTurn = (replicas, count) => /** @type {Replica} */ (replicas[count % 2]);

/** Leases that stay, that change hands, that two want at once, and of names that never come again. @param {Context} context @param {readonly [Replica, Replica]} replicas */
export async function lease(context, replicas) {
  const { tally } = context;
  const [first, second] = replicas;
  const steady = Array.from({ length: steadyCount }, (_, index) => `steady-${index}`);
  const keep = repeatedly(context, 1_000, async () => {
    const live = new Set(first.leases.live.map(({ name }) => name));
    for (const name of steady.filter((one) => !live.has(one))) {
      if ((await first.leases.acquire(name)) !== undefined) tally.count('leases');
    }
  });
  /** @param {Replica} replica @param {string} name @param {number} waitMs */
  const takeAndGiveBack = async (replica, name, waitMs = 0) => {
    const held = await replica.leases.acquire(name, { waitMs });
    if (held === undefined) return;
    tally.count('leases');
    await held.release();
  };
  const turn = repeatedly(context, 150, (count) =>
    takeAndGiveBack(inTurn(replicas, count), `turning-${count % turningCount}`),
  );
  const fresh = repeatedly(context, 400, async (count) => {
    const names = Array.from({ length: freshCount }, (_, index) => `fresh-${count}-${index}`);
    const replica = inTurn(replicas, count);
    await Promise.all(names.map((name) => takeAndGiveBack(replica, name)));
  });
  const contend = repeatedly(context, 1_000, async () => {
    const held = await first.leases.acquire('contended', { waitMs: ttlMs });
    const giveBack = async () => {
      await sleep(50);
      await held?.release();
    };
    await Promise.all([takeAndGiveBack(second, 'contended', ttlMs), giveBack()]);
  });
  await Promise.all([keep, turn, fresh, contend]);
}

/** One that is led all the time and changes hands, and some that are led for a moment. @param {Context} context @param {readonly [Replica, Replica]} replicas */
export async function elect(context, replicas) {
  const { signal, tally } = context;
  const [first, second] = replicas;
  const elections = replicas.map(({ payments }) => payments);
  const lead = elections.map((election) =>
    election
      .lead(
        async (_, { stopping }) => {
          tally.count('terms');
          if (!stopping.aborted) await once(stopping, 'abort');
        },
        { signal },
      )
      .catch((error) => tally.trouble(error)),
  );
  const change = repeatedly(context, 3_000, async (count) => {
    const index = elections.findIndex(({ current }) => current !== undefined);
    const successor = index === 0 ? second : first;
    if (count % 2 === 0) await elections[index]?.resign();
    else await elections[index]?.handoff(successor.id);
  });
  const follow = async () => {
    for await (const _ of /** @type {import('tenure').Election} */ (elections[0]).observe({
      signal,
    }))
      tally.count('observations');
  };
  const look = repeatedly(context, 2_000, async (count) => {
    const leaving = new AbortController();
    const seen = elections[count % 2]?.observe({ signal: leaving.signal });
    await seen?.next();
    leaving.abort();
  });
  const short = repeatedly(context, 500, (count) =>
    leadBriefly(inTurn(replicas, count), count, tally),
  );
  await Promise.all([...lead, change, follow(), look, short]);
}

/** @param {Replica} replica @param {number} count @param {Context['tally']} tally */
async function leadBriefly({ elections }, count, tally) {
  const election = elections.election(`short-${count % shortElectionCount}`);
  if ((await election.campaign({ waitMs: 0 })) === undefined) return;
  tally.count('terms');
  await election.resign();
}

/** As many terms as a store keeps, at once. @param {Context} context @param {Replica} replica */
export async function fillHistories({ tally }, replica) {
  const { payments } = replica;
  for (let count = 0; count < keptTermCount; count++) {
    try {
      for (let name = 0; name < shortElectionCount; name++) await leadBriefly(replica, name, tally);
      if ((await payments.campaign({ waitMs: 0 })) !== undefined) await payments.resign();
    } catch (error) {
      tally.trouble(error);
    }
  }
}

/** Published by both, handled by both in order, and by one of them not all the time. @param {Context} context @param {readonly [Replica, Replica]} replicas */
export async function handleMessages(context, replicas) {
  const { place, tally } = context;
  const [first, second] = replicas;
  /** @param {Replica} replica @returns {Promise<StreamWorker>} */
  const worker = async ({ leases, topic }) => {
    const one = new StreamWorker({
      ...{ leases, topic, group: 'soak', fence: place.fence },
      async handler(message, { lease: held }) {
        await place.apply(held, message);
        tally.handled(message.key, message.seq);
      },
    });
    one.events.on('handlerFailed', ({ error }) => tally.trouble(error));
    await one.start();
    return one;
  };
  /** @type {StreamWorker | undefined} */
  let steady;
  /** @type {StreamWorker | undefined} */
  let changing;
  const keep = repeatedly(context, 1_000, async () => {
    steady ??= await worker(first);
  });
  const change = repeatedly(context, 20_000, async () => {
    await changing?.stop();
    changing = undefined;
    changing = await worker(second);
  });
  const startedMs = performance.now();
  let count = 0;
  /** By the clock, so that a busy machine has as many in each minute as an idle one: stores remember them for a minute. */
  const publish = repeatedly(context, 100, async () => {
    for (; (count + 1) * publishEveryMs <= performance.now() - startedMs; count++) {
      const { topic } = inTurn(replicas, count);
      const payload = { text: 'x'.repeat(200) };
      await topic.publish({ key: `key-${count % keyCount}`, id: `message-${count}`, payload });
      tally.count('published');
    }
  });
  const forget = repeatedly(context, 5_000, () => place.forget());
  await Promise.all([keep, change, publish, forget]);
  await Promise.all([steady?.stop(), changing?.stop()]);
}
