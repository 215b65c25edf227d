import type { ZooKeeperConnection } from '../../drivers/zookeeper/index.js';
import type { Unsubscribe } from '../../events/index.js';
import { type Call as CandidateCall, calledCount } from '../candidates.js';
import type { Holder } from '../holder.js';
import { whoMayHave } from '../rules/calls.js';
import type { StoredCandidate } from '../rules/candidate.js';
import { SnapshotLedger } from '../rules/snapshot.js';
import type { WantedEntries } from './entries.js';
import type { LoadedName, NameLoader } from './loading.js';
import type { ZooKeeperPaths } from './paths.js';
import { tagOf } from './places.js';
import type { ServerClock } from './server-clock.js';
import { type LeaseSession, unbounded } from './sessions.js';
import { snapshotOf } from './snapshots.js';

type Called = (call: CandidateCall) => void;

/** A name for which holders of this process wait. */
interface Attended {
  readonly name: string;
  readonly holders: Map<string, Holder>;
  /** Whether one of ours is among the first, so that the name itself is watched. */
  isNear: boolean;
  /** Whether a look has set the watch that tells of the next change. */
  isWatched: boolean;
  /** Watches of an earlier look tell nothing any more. */
  round: number;
}

/**
 * Calls candidates of this process. Who is among the first watches the name's node and the end of its lease; who stands
 * further back watches the one before it, and nothing else: however many wait, a release wakes few.
 */
export class Calls {
  readonly #paths: ZooKeeperPaths;
  readonly #loader: NameLoader;
  readonly #clock: ServerClock;
  readonly #listeners = new Map<string, Set<{ readonly called: Called }>>();
  readonly #attended = new Map<string, Attended>();
  /** Over which connection each session's node is watched. */
  readonly #heard = new WeakMap<LeaseSession, ZooKeeperConnection>();
  #control: ZooKeeperConnection | undefined;

  constructor(paths: ZooKeeperPaths, loader: NameLoader, clock: ServerClock) {
    this.#paths = paths;
    this.#loader = loader;
    this.#clock = clock;
  }

  onCalled(holder: Holder, called: Called): Unsubscribe {
    const { wire } = holder;
    const listener = { called };
    const listeners = this.#listeners.get(wire) ?? new Set();
    this.#listeners.set(wire, listeners.add(listener));
    for (const attended of this.#attended.values())
      if (attended.holders.has(wire)) void this.#look(attended, false);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(wire) === listeners)
        this.#listeners.delete(wire);
    };
  }

  /** The holder has begun, or goes on, to wait for the name, with so many before it. */
  attend(name: string, holder: Holder, position: number): void {
    const attended = this.#attended.get(name) ?? {
      name,
      holders: new Map(),
      isNear: false,
      isWatched: false,
      round: 0,
    };
    const isKnown = attended.holders.has(holder.wire);
    attended.holders.set(holder.wire, holder);
    this.#attended.set(name, attended);
    const isPlaced = attended.isNear || (attended.isWatched && position >= calledCount);
    if (!isKnown || !isPlaced) void this.#look(attended, false);
  }

  /** Whether somebody of this process waits for the name. */
  isAttended(name: string): boolean {
    return this.#attended.has(name);
  }

  leave(name: string, holder: Holder): void {
    const attended = this.#attended.get(name);
    attended?.holders.delete(holder.wire);
    if (attended?.holders.size === 0) this.#attended.delete(name);
  }

  /** There is a new connection: watches are gone with the old one, and anything may have happened. */
  connected(
    control: ZooKeeperConnection,
    sessions: readonly LeaseSession[],
    isFirst: boolean,
  ): void {
    this.#control = control;
    for (const session of sessions) this.listenFor(session);
    for (const attended of this.#attended.values()) void this.#look(attended, false);
    if (isFirst) return;
    for (const listeners of [...this.#listeners.values()])
      for (const { called } of [...listeners]) called({ name: undefined, position: 0 });
  }

  /** Whoever names a successor rings at the node of the session that its entry goes with, wherever it stands. */
  listenFor(session: LeaseSession): void {
    const control = this.#control;
    if (control === undefined || this.#heard.get(session) === control) return;
    this.#heard.set(session, control);
    const ring = () => {
      if (this.#control !== control || session.link.isOver) return;
      this.#heard.delete(session);
      this.listenFor(session);
      for (const attended of this.#attended.values())
        if (!attended.isNear) void this.#look(attended, true);
    };
    control.getData(this.#paths.session(session.nonce), ring).catch(() => {});
  }

  /** Rings for the successors that these names are reserved for. Nobody waits for it. */
  async ringSuccessors(control: ZooKeeperConnection, names: readonly string[]): Promise<void> {
    try {
      const ended = await this.#loader.load(unbounded, control, names);
      const successors = new Map(
        ended.flatMap(({ name, state }) =>
          state.after?.kind === 'reservation' ? [[name, state.after.to] as const] : [],
        ),
      );
      const wanted = (name: string) => ({ digests: [], tags: [tagOf(successors.get(name) ?? '')] });
      const reserved = [...successors.keys()];
      const loaded = await this.#loader.load(unbounded, control, reserved, { wanted });
      for (const { name, candidates } of loaded) {
        for (const { entry, session } of candidates.read)
          if (entry.id === successors.get(name))
            await control.setData(this.#paths.session(session), Buffer.alloc(0)).catch(() => {});
      }
    } catch {
      // A hint that got lost.
    }
  }

  close(): void {
    this.#control = undefined;
    this.#listeners.clear();
    this.#attended.clear();
  }

  /** @param isNews whether something has happened, so that whoever may have the name now is called. */
  async #look(attended: Attended, isNews: boolean): Promise<void> {
    const control = this.#control;
    // Whom nobody listens for need not be called, so nothing is watched.
    const isHeard = [...attended.holders.keys()].some((wire) => this.#listeners.has(wire));
    if (control === undefined || !isHeard) return;
    attended.round += 1;
    attended.isWatched = false;
    const { round, name } = attended;
    const isValid = () =>
      this.#control === control &&
      attended.round === round &&
      this.#attended.get(name) === attended;
    const look = () => {
      if (isValid()) void this.#look(attended, true);
    };
    const watch = () => {
      if (attended.isNear) look();
    };
    const wanted = () => this.#wantedBy(attended);
    const load = async (isNear: boolean) => {
      const options = isNear ? { wanted, watch } : { wanted };
      const [loaded] = await this.#loader.load(unbounded, control, [name], options);
      return loaded as LoadedName;
    };
    try {
      // What comes after it on this connection is answered after it.
      control.sync(this.#paths.root).catch(() => {});
      let loaded = await load(attended.isNear);
      const isNear = this.#placeOf(attended, loaded).index < calledCount;
      // Only now it is known that the name is to be watched: what happened since the first look shows in the second.
      if (isNear && !attended.isNear && isValid()) {
        attended.isNear = true;
        loaded = await load(true);
      }
      if (!isValid()) return;
      attended.isNear = isNear;
      const isWatched = await this.#watchBefore(attended, loaded, control, look);
      if (isValid()) attended.isWatched = isWatched;
      if (isNews) this.#call(attended, loaded);
    } catch {
      // The connection is gone, and the next one looks again.
    }
  }

  /** Who stands further back hears when the one before it goes; `false` if ours does not stand there (yet, or any more). */
  async #watchBefore(
    attended: Attended,
    loaded: LoadedName,
    control: ZooKeeperConnection,
    look: () => void,
  ): Promise<boolean> {
    const { before } = this.#placeOf(attended, loaded);
    if (attended.isNear || before === undefined) return false;
    await control.getChildren(before, look).catch(look);
    return true;
  }

  /** Ours, to know whether they live and are meant; and the first who wait. */
  #wantedBy({ holders }: Attended): WantedEntries {
    const ours = [...holders.values()];
    const isAlive = ({ deadlineMs }: StoredCandidate) => deadlineMs > this.#clock.nowMs();
    return {
      digests: ours.map(({ digest }) => digest),
      tags: ours.map(({ id }) => tagOf(id)),
      first: { count: calledCount, isAlive },
    };
  }

  /** Of the first of ours in the queue: its place, and the node of the one before it. */
  #placeOf(
    { holders }: Attended,
    { candidates }: LoadedName,
  ): { readonly index: number; readonly before: string | undefined } {
    const nowMs = this.#clock.nowMs();
    const ours = new Set([...holders.values()].map(({ digest }) => digest));
    const queue = candidates.queue.filter(
      ({ candidate }) => candidate === undefined || candidate.entry.deadlineMs > nowMs,
    );
    const found = queue.findIndex(({ digest }) => ours.has(digest));
    return { index: found < 0 ? calledCount : found, before: queue[found - 1]?.path };
  }

  #call({ name, holders }: Attended, loaded: LoadedName): void {
    const nowMs = this.#clock.nowMs();
    const { snapshot } = snapshotOf(loaded, nowMs);
    const ledger = new SnapshotLedger(new Map([[name, snapshot]]), { wallMs: nowMs });
    const first = whoMayHave(ledger, name, nowMs).slice(0, calledCount);
    for (const [position, { holder }] of first.entries()) {
      if (!holders.has(holder.wire)) continue;
      for (const { called } of [...(this.#listeners.get(holder.wire) ?? [])])
        called({ name, position });
    }
  }
}
