import type { TermEntry } from '../../src/coordinators/index.js';
import type { LeadContext } from '../../src/elections/index.js';
import type { Lease } from '../../src/leases/index.js';
import { sleep } from '../../src/time/index.js';
import { act, ElectionFixture, name, type Process } from './fixture.js';

export const ttlMs = 2_000;
const drainMs = 1_500;
const ids = ['a', 'b', 'c', 'd', 'e'];
/** A write is on its way for so long at most, whatever becomes of who sent it. */
export const longestFlightMs = 60;

interface Member {
  readonly process: Process;
  readonly stop: AbortController;
  activeCount: number;
}

/** The resource: it lets a write pass under a higher term, or the same term from the same holder. */
class Resource {
  #installed = { term: 0, digest: '' };

  take({ term, holder }: Lease): boolean {
    const isOwn = term === this.#installed.term && holder.digest === this.#installed.digest;
    if (term <= this.#installed.term && !isOwn) return false;
    this.#installed = { term, digest: holder.digest };
    return true;
  }
}

/** Candidates that come and go, freeze, lose the network and are interfered with. One seed is one run. */
export class Storm {
  readonly fixture: ElectionFixture;
  readonly terms = new Map<number, TermEntry>();
  readonly #resource = new Resource();
  readonly #members = new Map<string, Member>();
  readonly #gone: Process[] = [];
  readonly #ill = new Map<Member, 'frozen' | 'broken'>();
  /** Members whose work ran twice at a time: there must be none. */
  readonly doubled: string[] = [];

  constructor(seed: number) {
    this.fixture = new ElectionFixture(seed);
    for (const id of ids.slice(0, 3)) this.#start(id);
  }

  /** Who believes now that it leads, and could act on it. */
  get believers(): string[] {
    return [...this.#members.values()]
      .filter((member) => this.#ill.get(member) !== 'frozen')
      .filter(({ process }) => process.election.current !== undefined)
      .map(({ process }) => process.id);
  }

  get logs(): string[][] {
    return this.fixture.processes.map(({ log }) => log);
  }

  /** One step of time with, perhaps, something happening. */
  async step(): Promise<void> {
    this.#interfere();
    await this.wait();
  }

  /** One step of time in which nothing is done to anybody. */
  async wait(): Promise<void> {
    await this.fixture.runtime.advance(250);
    await this.#readHistory();
  }

  /** All faults end, and every id has a process that runs. */
  async calm(): Promise<void> {
    for (const member of [...this.#ill.keys()]) this.#heal(member);
    for (const id of ids) if (!this.#members.has(id)) this.#start(id);
    await this.fixture.operator.resume(name, act, { timeoutMs: 1_000 });
  }

  async #readHistory(): Promise<void> {
    const history = await this.fixture.operator.history(name, { timeoutMs: 1_000 });
    for (const entry of history) if (entry.kind === 'term') this.terms.set(entry.term, entry);
  }

  #interfere(): void {
    const dice = this.#random();
    const member = this.#pick([...this.#members.values()]);
    const absent = ids.filter((id) => !this.#members.has(id));
    if (dice < 0.06 && absent.length > 0) this.#start(this.#pick(absent) ?? 'a');
    else if (dice < 0.1) this.#leave(member);
    else if (dice < 0.13) this.#crash(member);
    else if (dice < 0.22) this.#break(member);
    else if (dice < 0.34) this.#heal(this.#pick([...this.#ill.keys()]));
    else if (dice < 0.4) this.#operate(member);
  }

  #start(id: string): void {
    const process = this.fixture.process(id, {
      leases: { ttlMs },
      election: { drainMs, firstPauseMs: 200, longestPauseMs: 2_000 },
    });
    const member: Member = { process, stop: new AbortController(), activeCount: 0 };
    this.#members.set(id, member);
    const work = (lease: Lease, context: LeadContext) => this.#work(member, lease, context);
    process.election.lead(work, { signal: member.stop.signal }).catch(() => {});
  }

  #leave(member: Member | undefined): void {
    if (member === undefined || this.#ill.has(member)) return;
    this.#members.delete(member.process.id);
    member.stop.abort();
  }

  /** Nothing of it runs any more; a process of the same id may come up at once. */
  #crash(member: Member | undefined): void {
    if (member === undefined) return;
    this.#members.delete(member.process.id);
    this.#ill.delete(member);
    this.#gone.push(member.process);
    member.process.crash();
  }

  #break(member: Member | undefined): void {
    if (member === undefined || this.#ill.has(member)) return;
    const { process } = member;
    const fault = this.#pick(['frozen', 'cut', 'hung', 'deaf', 'twice', 'late'] as const);
    this.#ill.set(member, fault === 'frozen' ? 'frozen' : 'broken');
    if (fault === 'frozen') process.freeze();
    if (fault === 'cut') process.link.cut();
    if (fault === 'hung') process.link.hang();
    if (fault === 'deaf') process.link.disturb('reply', 'drop', { operation: 'watch' });
    if (fault === 'twice') process.link.disturb('request', 'duplicate');
    if (fault === 'late') process.link.disturb('reply', 'hold', { operation: 'acquire', count: 1 });
  }

  #heal(member: Member | undefined): void {
    if (member === undefined) return;
    const how = this.#ill.get(member);
    this.#ill.delete(member);
    if (how === 'frozen') member.process.thaw();
    else {
      member.process.link.heal();
      member.process.link.flush();
    }
  }

  #operate(member: Member | undefined): void {
    const { operator } = this.fixture;
    const call = { timeoutMs: 1_000 };
    const dice = this.#random();
    if (dice < 0.2) void member?.process.election.resign();
    else if (dice < 0.45) void this.#handOff(member);
    else if (dice < 0.65) void operator.revoke(name, act, call);
    else if (dice < 0.75) void operator.suspend(name, act, call);
    else void operator.resume(name, act, call);
  }

  async #handOff(member: Member | undefined): Promise<void> {
    const to = this.#pick(ids) ?? 'a';
    if (member !== undefined && to !== member.process.id)
      await member.process.election.handoff(to, 500);
  }

  /** Checks, writes, and looks up now and then, until it is told to stop; then it takes a while. */
  async #work(member: Member, lease: Lease, { stopping }: LeadContext): Promise<void> {
    member.activeCount += 1;
    if (member.activeCount > 1) this.doubled.push(member.process.id);
    try {
      // The successor installs its term before anything else.
      this.#write(lease);
      while (!stopping.aborted) {
        // In doubt it begins no write, and goes on when the doubt is over.
        if (lease.state === 'held') this.#send(lease);
        await sleep(member.process.runtime, 20 + this.#random() * 200, stopping);
        if (this.#random() < 0.01) throw new Error('the work failed');
        if (this.#random() < 0.01) return;
      }
      const dawdleMs = this.#random() < 0.1 ? 3 * drainMs : this.#random() * 800;
      await sleep(member.process.runtime, dawdleMs);
    } finally {
      member.activeCount -= 1;
    }
  }

  /** What is on its way arrives, though its sender may be frozen, dead or replaced by then. */
  #send(lease: Lease): void {
    this.fixture.runtime.setTimer(this.#random() * longestFlightMs, () => this.#write(lease));
  }

  #write(lease: Lease): void {
    this.fixture.witness.record(lease, this.#resource.take(lease));
  }

  #random(): number {
    return this.fixture.runtime.random();
  }

  #pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random() * items.length)];
  }
}
