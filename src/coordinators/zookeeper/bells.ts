import {
  errorCode,
  isZooKeeperError,
  type ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import type { Unsubscribe } from '../../events/index.js';
import { groupOf } from '../names.js';
import type { ZooKeeperPaths } from './paths.js';
import { unless } from './sessions.js';

type Wake = (name: string | undefined) => void;

/** More names than this are not told one by one. */
const longestList = 64;

/**
 * Who wants to hear of the names of a group. Each group that somebody watches has a node, the *bell*, which goes with
 * the session of whoever made it; who changes something writes the names into it, if it is there.
 */
export class Bells {
  readonly #paths: ZooKeeperPaths;
  readonly #byGroup = new Map<string, Set<{ readonly wake: Wake }>>();
  #control: ZooKeeperConnection | undefined;

  constructor(paths: ZooKeeperPaths) {
    this.#paths = paths;
  }

  watch(group: string, wake: Wake): Unsubscribe {
    const watches = this.#byGroup.get(group) ?? new Set();
    const isFirst = watches.size === 0;
    const watch = { wake };
    this.#byGroup.set(group, watches.add(watch));
    if (isFirst && this.#control !== undefined) void this.#listen(this.#control, group, undefined);
    return () => {
      watches.delete(watch);
      if (watches.size === 0 && this.#byGroup.get(group) === watches) this.#byGroup.delete(group);
    };
  }

  /** There is a new connection: anything may have happened. */
  connected(control: ZooKeeperConnection, isFirst: boolean): void {
    this.#control = control;
    for (const group of this.#byGroup.keys()) {
      if (!isFirst) this.#tell(group, undefined);
      void this.#listen(control, group, undefined);
    }
  }

  /** Tells whoever watches. Nobody waits for it: a bell that is not rung is a hint that got lost. */
  ring(control: ZooKeeperConnection, names: readonly string[]): void {
    const byGroup = new Map<string, string[]>();
    for (const name of names) {
      const group = groupOf(name);
      byGroup.set(group, [...(byGroup.get(group) ?? []), name]);
    }
    for (const [group, list] of byGroup) {
      const told = list.length > longestList ? [] : list;
      control
        .setData(this.#paths.bell(group), Buffer.from(JSON.stringify({ tenure: 1, names: told })))
        .catch(() => {});
    }
  }

  close(): void {
    this.#byGroup.clear();
    this.#control = undefined;
  }

  /** @param known the version of the bell that was told last. */
  async #listen(
    control: ZooKeeperConnection,
    group: string,
    known: number | undefined,
  ): Promise<void> {
    if (this.#control !== control || !this.#byGroup.has(group)) return;
    const path = this.#paths.bell(group);
    let version: number | undefined;
    const again = () => void this.#listen(control, group, version);
    try {
      const { data, stat } = await control.getData(path, again);
      version = stat.version;
      if (known !== undefined) this.#rung(group, data, version - known);
    } catch (error) {
      if (!isZooKeeperError(error, errorCode.noNode)) return;
      const isThere = await control
        .create({ path, data: Buffer.alloc(0), ephemeral: true })
        .catch(unless(errorCode.nodeExists))
        .then(
          () => true,
          () => false,
        );
      if (!isThere) return;
      // It was there, and whoever made it has left: what was rung meanwhile is lost.
      if (known !== undefined) this.#tell(group, undefined);
      await this.#listen(control, group, undefined);
    }
  }

  #rung(group: string, data: Buffer, count: number): void {
    const names = namesIn(data).filter((name) => groupOf(name) === group);
    if (count !== 1 || names.length === 0) this.#tell(group, undefined);
    for (const name of names) this.#tell(group, name);
  }

  #tell(group: string, name: string | undefined): void {
    for (const { wake } of [...(this.#byGroup.get(group) ?? [])]) wake(name);
  }
}

function namesIn(data: Buffer): string[] {
  try {
    const { names } = JSON.parse(data.toString()) as { names?: unknown };
    if (!Array.isArray(names)) return [];
    return names.filter((name): name is string => typeof name === 'string');
  } catch {
    return [];
  }
}
