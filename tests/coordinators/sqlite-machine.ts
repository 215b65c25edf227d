import { join } from 'node:path';
import { afterEach, beforeAll, expect } from 'vitest';
import { type AcquireRequest, Holder } from '../../src/coordinators/index.js';
import {
  loadSqlite,
  type SqliteDatabase,
  type SqliteLibrary,
} from '../../src/drivers/sqlite/client.js';
import {
  type SqliteCoordinator,
  type SqliteCoordinatorOptions,
  sqliteCoordinator,
} from '../../src/sqlite.js';
import { VirtualRuntime } from '../../src/testing.js';
import { folderPerTest } from '../drivers/sqlite/folder.js';
import { virtualClock } from './sqlite-target.js';

export const newFolder = folderPerTest();
export const call = { timeoutMs: 5_000 };
export const ttlMs = 30_000;
export const name = 'group/name';

export let library: SqliteLibrary;
beforeAll(async () => {
  library = await loadSqlite();
});

export const toClose: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of toClose.splice(0)) await one.close();
});

/** A machine in virtual time, with one file. */
export class Machine {
  readonly path = join(newFolder(), 'x.db');
  runtime = new VirtualRuntime();
  #bootCount = 0;

  open(options: Partial<SqliteCoordinatorOptions> = {}): SqliteCoordinator {
    const clock = virtualClock(this.runtime, `boot-${this.#bootCount}`);
    const coordinator = sqliteCoordinator(this.path, {
      runtime: this.runtime,
      library,
      clock,
      ...options,
    });
    toClose.push(coordinator);
    return coordinator;
  }

  /** Every process is gone, and the monotonic clock begins anew. */
  async reboot(): Promise<void> {
    for (const one of toClose.splice(0)) await one.close();
    const { wallMs } = this.runtime.now();
    this.#bootCount += 1;
    this.runtime = new VirtualRuntime({ wallMs: wallMs + 60_000 });
  }

  holder(id = 'ann'): Holder {
    return Holder.create(id, this.runtime);
  }

  request(holder: Holder, parts: Partial<AcquireRequest> = {}): AcquireRequest {
    return { name, holder, attempt: this.runtime.randomHex(16), ttlMs, ...parts };
  }

  /** Another program that has the file open. */
  stranger(): SqliteDatabase {
    const database = library.open(this.path);
    toClose.push(database);
    return database;
  }
}

/** Is granted the usual name. @returns the term */
export async function take(
  machine: Machine,
  coordinator: SqliteCoordinator,
  holder: Holder,
  parts: Partial<AcquireRequest> = {},
): Promise<number> {
  const [result] = await coordinator.acquire([machine.request(holder, parts)], call);
  return result?.outcome === 'granted'
    ? result.term
    : expect.fail(`not granted: ${result?.outcome}`);
}
