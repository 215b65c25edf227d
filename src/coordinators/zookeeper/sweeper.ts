import type { NodeOperation, ZooKeeperConnection } from '../../drivers/zookeeper/index.js';
import type { Runtime } from '../../time/index.js';
import { historyLifeMs } from '../history.js';
import { type LoadedName, NameLoader } from './loading.js';
import type { ZooKeeperPaths } from './paths.js';
import type { ServerClock } from './server-clock.js';
import { type Sessions, unbounded } from './sessions.js';
import { snapshotOf } from './snapshots.js';
import { sweptState } from './state.js';

/** One look at a few names, so often at most. */
const pauseMs = 10_000;
const namesPerLook = 16;
/**
 * How long nobody wrote to a name's node before it goes, and again between the mark and the end of the node. Versions
 * begin anew with a new node, so nobody may still be about to write what it read before the mark: no request takes an
 * hour, and nobody writes to a marked node.
 */
const idleMs = 60 * 60 * 1000;

export interface SweeperOptions {
  readonly runtime: Runtime;
  readonly paths: ZooKeeperPaths;
  readonly sessions: Sessions;
  readonly clock: ServerClock;
}

/** Deletes nodes of names that nobody uses, a few with each look: random names must not fill a store. */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #loader: NameLoader;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#loader = new NameLoader(options.paths);
  }

  /** After an acquire. Nobody waits for it, and whoever looks next makes up for what it missed. */
  look(): void {
    const { runtime, sessions } = this.#options;
    const nowMs = runtime.now().monotonicMs;
    const control = sessions.control.connection;
    if (control === undefined || nowMs - this.#lookedAtMs < pauseMs) return;
    this.#lookedAtMs = nowMs;
    this.sweep(control).catch(() => {});
  }

  /** @internal One look at a group that chance picks. */
  async sweep(control: ZooKeeperConnection): Promise<void> {
    const { paths } = this.#options;
    const groups = await control.getChildren(paths.names);
    const [child] = this.#some(groups, 1);
    const group = child === undefined ? undefined : paths.groupIn(child);
    if (group === undefined) return;
    const children = await control.getChildren(paths.group(group));
    // Whoever makes a name in it at this moment finds it gone, and makes it anew.
    if (children.length === 0) await control.delete(paths.group(group));
    const names = this.#some(children, namesPerLook).flatMap(
      (one) => paths.nameIn(group, one) ?? [],
    );
    const loaded = await this.#loader.load(unbounded, control, names);
    const { clock } = this.#options;
    for (const one of loaded) {
      const operation = sweeping(one, paths.name(one.name), clock.nowMs());
      if (operation !== undefined) await control.multi([operation]).catch(() => {});
    }
  }

  #some(all: readonly string[], count: number): string[] {
    const start = Math.floor(this.#options.runtime.random() * all.length);
    return [...all.slice(start), ...all.slice(0, start)].slice(0, count);
  }
}

function sweeping(loaded: LoadedName, path: string, nowMs: number): NodeOperation | undefined {
  const { stat, sweptVersion, modifiedAtMs = nowMs } = loaded;
  if (nowMs - modifiedAtMs < idleMs) return undefined;
  if (sweptVersion !== undefined) return { kind: 'delete', path, version: sweptVersion };
  if (stat === undefined || stat.childCount > 0) return undefined;
  const { record, suspension, history = [] } = snapshotOf(loaded, nowMs).snapshot;
  const isRemembered = history.length > 0 && nowMs - stat.modifiedAtMs < historyLifeMs;
  if (record !== undefined || suspension !== undefined || isRemembered) return undefined;
  return { kind: 'set', path, data: sweptState, version: stat.version };
}
