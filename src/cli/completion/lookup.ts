import { existsSync } from 'node:fs';
import { type Coordinator, groupOf } from '../../coordinators/index.js';
import { openJobStore } from '../job-stores.js';
import { openOnceStore } from '../once/stores.js';
import { type Flags, resolveSettings, type Setting } from '../settings/index.js';
import { filePathOf } from '../store-url.js';
import { openStores } from '../stores.js';
import type { Lookup } from './suggest.js';

/** Whoever presses a key does not wait longer than this for a store. */
export const patienceMs = 1_000;
const call = { timeoutMs: 800 };

/**
 * What a shell may take as it stands: the words end up on a command line, and whoever may acquire a name chooses its
 * text. Names with other characters are not offered.
 */
const harmless = /^[A-Za-z0-9_][A-Za-z0-9._@/-]*$/;

/** Asks the store of the settings; nothing is an error here, and nothing is created. */
export const storeLookup: Lookup = {
  names: (beginning, flags) =>
    quietly(flags, async (coordinator) => {
      const records = await coordinator.list(groupOf(beginning), call);
      return records.map(({ name }) => name);
    }),
  candidates: (name, flags) =>
    quietly(flags, async (coordinator) => {
      const found = await coordinator.candidates(name, call);
      return [...new Set(found.map(({ id }) => id))];
    }),
  async jobs(flags) {
    try {
      const { url, namespace } = resolveSettings(['url', 'namespace'], flags);
      if (isMissingFile(url)) return [];
      const { store } = await openJobStore(url.value, namespace.value, url.source);
      const { jobs, corrupt } = await store.jobs(call);
      void store.close();
      const names = [...jobs.map(({ record }) => record.job), ...corrupt.map(({ job }) => job)];
      return names.filter((word) => harmless.test(word));
    } catch {
      return [];
    }
  },
  async keys(flags) {
    try {
      const { url, namespace } = resolveSettings(['url', 'namespace'], flags);
      if (isMissingFile(url)) return [];
      const { store } = await openOnceStore(url.value, namespace.value, url.source);
      const unknown = await store.unknown({ limit: 100 }, call);
      void store.close();
      return unknown.map(({ key }) => key).filter((word) => harmless.test(word));
    } catch {
      return [];
    }
  },
};

/** Nothing is created by pressing a key. */
function isMissingFile({ value, source }: Setting<string>): boolean {
  return value.startsWith('sqlite:') && !existsSync(filePathOf(value, source));
}

async function quietly(
  flags: Flags,
  ask: (coordinator: Coordinator) => Promise<string[]>,
): Promise<string[]> {
  try {
    const { url, namespace } = resolveSettings(['url', 'namespace'], flags);
    if (isMissingFile(url)) return [];
    const stores = await openStores(url.value, namespace.value, url.source);
    const coordinator = stores.openCoordinator();
    const words = await ask(coordinator);
    void coordinator.close();
    return words.filter((word) => harmless.test(word));
  } catch {
    return [];
  }
}
