import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {import('tenure/schedule').JobStore} JobStore */

/**
 * The same store behind a network that takes its time, so that a process is often frozen or killed with a write on its way.
 *
 * @param {JobStore} store
 * @param {() => unknown} refused
 */
export function slow(store, refused) {
  return changed(store, {
    async write(token, change, call) {
      await sleep(Math.random() * (Math.random() < 0.8 ? 60 : 1_000));
      const result = await store.write(token, change, call);
      if (result.outcome === 'refused') refused();
      return result;
    },
  });
}

/**
 * A wrong one: whoever writes is taken for the one whose term is installed, and a run is begun whether it is there or not.
 *
 * @param {JobStore} store
 */
export function withoutFence(store) {
  return changed(store, {
    async write(_token, { begin, ...change }, call) {
      const { jobs } = await store.look([change.job], call);
      const [view] = jobs;
      if (view === undefined) return { outcome: 'refused', installedTerm: 0 };
      const { election, term, holderId, holderDigest } = view.record;
      const holder = /** @type {import('tenure').Holder} */ ({
        id: holderId,
        digest: holderDigest,
      });
      const runs = [...(change.runs ?? []), ...(begin === undefined ? [] : [begin])];
      return await store.write({ name: election, term, holder }, { ...change, runs }, call);
    },
  });
}

/** @param {JobStore} store @param {Partial<JobStore>} other @returns {JobStore} */
function changed(store, other) {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(other, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
