import {
  type EtcdClient,
  type EtcdEvent,
  Follower,
  type KeyRange,
} from '../../drivers/etcd/index.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Timer } from '../../time/index.js';
import {
  type Call,
  calledCount,
  type EnrollRequest,
  type EnrollResult,
  type WithdrawRequest,
} from '../candidates.js';
import type { Holder } from '../holder.js';
import { groupOf } from '../names.js';
import type { EtcdKeys } from './keys.js';
import type { View } from './reader.js';
import { type CallTo, judge, type Outlook } from './turn.js';
import { afterValue } from './values.js';

type Wake = (name: string | undefined) => void;
type Called = (call: Call) => void;
type Look = (names: readonly string[], timeoutMs: number) => Promise<View>;

/** One holder that waits for one name. */
interface Wait {
  readonly name: string;
  readonly holder: Holder;
  outlook: Outlook | undefined;
  /** Somebody was in its way, or something has happened since: if a look finds it free, that is news. */
  isDue: boolean;
  /** It was free at the last look, and nobody was told, since its answer said so. */
  wasFree: boolean;
}

const groupParts = ['held', 'after', 'suspended'] as const;
/** What keeps a name from everybody: its end matters to those who are called then. */
const obstacles = ['after', 'suspended'] as const;
const lookMs = 2_000;
/** After a look that failed. */
const pauseMs = 500;

/**
 * Who is to be told of what. One watch carries all of it: of the groups that are watched, and for each name that is waited
 * for of the few keys that matter to whoever waits. What it says only wakes; before anybody is called the store is asked.
 */
export class Waking {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #look: Look;
  readonly #follower: Follower;
  readonly #groups = new Set<{ readonly group: string; readonly wake: Wake }>();
  readonly #listeners = new Set<{ readonly holder: Holder; readonly called: Called }>();
  readonly #waits = new Map<string, Wait>();
  /** Names that are being looked at, and whether they are to be looked at again. */
  readonly #looking = new Map<string, boolean>();
  /** Names at which a look has failed. */
  readonly #unseen = new Set<string>();
  #lookTimer: Timer | undefined;
  #isClosed = false;

  constructor(client: EtcdClient, keys: EtcdKeys, look: Look) {
    this.#client = client;
    this.#keys = keys;
    this.#look = look;
    this.#follower = new Follower({
      client,
      ranges: () => this.#ranges(),
      onEvents: (events) => this.#heed(events),
      onAgain: () => this.#wakeAll(),
    });
  }

  watch(group: string, wake: Wake): Unsubscribe {
    return this.#add(this.#groups, { group, wake });
  }

  onCalled(holder: Holder, called: Called): Unsubscribe {
    return this.#add(this.#listeners, { holder, called });
  }

  /** These have been entered or refreshed just now. */
  enrolled(requests: readonly EnrollRequest[], results: readonly EnrollResult[]): void {
    const unclear = new Set<string>();
    for (const [index, { name, holder, standing }] of requests.entries()) {
      const result = results[index];
      if (standing !== 'waiting' || result === undefined) {
        this.#waits.delete(idOf(name, holder));
        continue;
      }
      const { current } = result;
      const before = this.#waits.get(idOf(name, holder));
      // Whom it is behind may change; what it watches does not, unless it has come to be one of the first.
      const isClear = before?.outlook?.isFirst === isFirst(result);
      const wait: Wait = before ?? {
        ...{ name, holder, outlook: undefined },
        ...{ isDue: false, wasFree: false },
      };
      wait.isDue ||= current !== undefined;
      this.#waits.set(idOf(name, holder), wait);
      // A leader of another program has a key of its own to watch.
      if (!isClear || wait.outlook?.isForeign) unclear.add(name);
    }
    for (const name of unclear) this.#reconsider(name, false);
    this.#follower.changed();
  }

  /** This holder has tried to acquire the name, and somebody was in its way. */
  keptOut(name: string, holder: Holder): void {
    const wait = this.#waits.get(idOf(name, holder));
    if (wait === undefined || !(wait.wasFree || this.#looking.has(name))) return;
    wait.isDue = true;
    this.#reconsider(name, false);
  }

  withdrawn(requests: readonly WithdrawRequest[]): void {
    for (const { name, holder } of requests) this.#waits.delete(idOf(name, holder));
    this.#follower.changed();
  }

  close(): void {
    this.#isClosed = true;
    this.#lookTimer?.cancel();
    this.#follower.close();
    this.#groups.clear();
    this.#listeners.clear();
    this.#waits.clear();
  }

  #add<Listener>(listeners: Set<Listener>, listener: Listener): Unsubscribe {
    listeners.add(listener);
    this.#lookAtAll(false);
    this.#follower.changed();
    return () => {
      listeners.delete(listener);
      this.#follower.changed();
    };
  }

  /** Waits that nobody listened for were not looked at. */
  #lookAtAll(isNews: boolean): void {
    for (const { name, outlook } of this.#waits.values())
      if (outlook === undefined) this.#reconsider(name, isNews);
  }

  #isListenedFor({ holder }: Wait): boolean {
    return [...this.#listeners].some((listener) => listener.holder.equals(holder));
  }

  #ranges(): KeyRange[] {
    const byKey = new Map<string, KeyRange>();
    const add = (range: KeyRange) => byKey.set(`${range.key} ${range.end ?? ''}`, range);
    for (const { group } of this.#groups)
      for (const part of groupParts) add(this.#keys.partOfGroup(part, group));
    for (const wait of this.#waits.values()) {
      if (wait.outlook === undefined || !this.#isListenedFor(wait)) continue;
      for (const key of wait.outlook.watched) add({ key });
    }
    return [...byKey.keys()].sort().map((id) => byKey.get(id) as KeyRange);
  }

  #wakeAll(): void {
    for (const { wake } of [...this.#groups]) wake(undefined);
    for (const { called } of [...this.#listeners]) called({ name: undefined, position: 0 });
    for (const wait of this.#waits.values()) wait.outlook = undefined;
    // What happens between that word and the look is heard by nobody: the look tells it.
    this.#lookAtAll(true);
  }

  #heed(events: readonly EtcdEvent[]): void {
    const woken = new Set<string>();
    const reconsidered = new Set<string>();
    for (const event of events) {
      const { key } = event.keyValue;
      for (const part of groupParts) {
        const name = this.#keys.nameIn(part, key);
        if (name !== undefined && isNews(part, event)) woken.add(name);
      }
      for (const wait of this.#waits.values())
        if (wait.outlook?.watched.has(key) && this.#concerns(wait, event))
          reconsidered.add(wait.name);
    }
    for (const name of woken) this.#wake(name);
    for (const name of reconsidered) this.#reconsider(name, true);
  }

  /** A name is not free because something was put there, unless that is a reservation for who waits. */
  #concerns({ name, holder, outlook }: Wait, { kind, keyValue }: EtcdEvent): boolean {
    const { key, value, modRevision } = keyValue;
    const isObstacle = obstacles.some((part) => key === this.#keys.part(part, name));
    if (kind === 'delete')
      return !isObstacle || outlook?.isFirst === true || outlook?.isNamed === true;
    const after = afterValue(value, modRevision);
    return after?.startedAtMs !== undefined && after.to === holder.id;
  }

  #wake(name: string): void {
    const nameGroup = groupOf(name);
    for (const { group, wake } of [...this.#groups]) if (group === nameGroup) wake(name);
  }

  #waitsFor(name: string): Wait[] {
    return [...this.#waits.values()].filter((wait) => wait.name === name);
  }

  /** Looks at the name: what is to be watched from now on, and who is called to whom it is news. */
  #reconsider(name: string, isNews: boolean): void {
    const waits = this.#waitsFor(name);
    if (isNews) for (const wait of waits) wait.isDue = true;
    const isWanted = waits.some((wait) => this.#isListenedFor(wait));
    if (!isWanted || this.#isClosed) {
      this.#unseen.delete(name);
      return;
    }
    const isLooking = this.#looking.has(name);
    this.#looking.set(name, isLooking);
    if (isLooking) return;
    this.#reconsiderNow(name).catch(() => {
      this.#looking.delete(name);
      this.#unseen.add(name);
      this.#lookAgain();
    });
  }

  /** After a look that failed: when one succeeds, anything may have happened. */
  #lookAgain(): void {
    if (this.#isClosed || this.#lookTimer !== undefined) return;
    this.#lookTimer = this.#client.runtime.setTimer(
      pauseMs,
      () => {
        this.#lookTimer = undefined;
        for (const name of [...this.#unseen]) this.#reconsider(name, true);
      },
      { keepsProcessAlive: false },
    );
  }

  async #reconsiderNow(name: string): Promise<void> {
    for (;;) {
      this.#looking.set(name, false);
      const view = await this.#look([name], lookMs);
      if (this.#isClosed) return;
      const wasUnseen = this.#unseen.delete(name);
      const isLast = this.#looking.get(name) !== true;
      const waits = this.#waitsFor(name);
      const calls: CallTo[] = [];
      for (const wait of waits) {
        const { outlook, call } = judge(view, name, wait.holder, this.#keys);
        wait.outlook = outlook;
        wait.wasFree = call !== undefined;
        if (call !== undefined && wait.isDue) calls.push(call);
        // Who has entered during this look is not in what it has seen.
        if (call !== undefined || isLast) wait.isDue = false;
      }
      this.#follower.hearFrom(view.revision);
      for (const call of calls) this.#call(call);
      if (wasUnseen)
        for (const { holder } of waits)
          this.#call({ holder, call: { name: undefined, position: 0 } });
      if (isLast && this.#looking.get(name) !== true) break;
    }
    this.#looking.delete(name);
  }

  #call({ holder, call }: CallTo): void {
    for (const listener of [...this.#listeners])
      if (listener.holder.equals(holder)) listener.called(call);
  }
}

function idOf(name: string, holder: Holder): string {
  return `${holder.wire} ${name}`;
}

/** Whether it is called with the first. */
function isFirst({ position = 0 }: { readonly position: number | undefined }): boolean {
  return position < calledCount;
}

/** Whether whoever watches the group is to know of it. */
function isNews(part: (typeof groupParts)[number], { kind }: EtcdEvent): boolean {
  // What is reserved or delayed is told by the end of the lease before it.
  return kind === 'delete' || part !== 'after';
}
