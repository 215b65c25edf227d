import { ClosedError, OptionError } from '../errors/index.js';
import { onAbort } from '../events/index.js';
import type { Lease, Leases } from '../leases/index.js';
import { elapsedMs } from '../time/index.js';
import type { Announcer } from './announcer.js';
import { Campaigner } from './campaigner.js';
import { CurrentTerm } from './current-term.js';
import { CampaignUnderWayError } from './election-errors.js';
import { Latch } from './latch.js';
import { LeadLoop } from './lead-loop.js';
import type { Wish, Work } from './led-term.js';
import type { ResolvedElectionOptions } from './options.js';
import type { Presence } from './presence.js';
import type { UnheardWork } from './unheard-work.js';

export interface CandidacyOptions {
  readonly leases: Leases;
  readonly options: ResolvedElectionOptions;
  readonly announcer: Announcer;
  readonly presence: Presence;
  readonly unheard: UnheardWork;
}

interface Wanted {
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  /** As `lead` does: see {@link Campaigner.win}. */
  readonly outlasts?: { readonly hasLed: boolean };
}

interface UnderWay {
  /** To follow "the election ...". */
  readonly what: string;
  readonly stop: () => void;
  readonly over: Latch;
}

/** What this process does to lead: one campaign, or one `lead`, at a time. */
export class Candidacy {
  readonly current: CurrentTerm;
  readonly #context: CandidacyOptions;
  readonly #campaigner: Campaigner;
  #underWay: UnderWay | undefined;
  #closing: Promise<void> | undefined;

  constructor(context: CandidacyOptions) {
    const { runtime } = context.leases;
    this.#context = context;
    this.current = new CurrentTerm({ runtime, ...context });
    this.#campaigner = new Campaigner(context);
  }

  campaign(options: Wanted): Promise<Lease | undefined> {
    const { signal } = options;
    const aborter = new AbortController();
    const stop = () => aborter.abort(new ClosedError('this set of elections'));
    return this.#alone('campaigns already', stop, async () => {
      const stopListening = onAbort(signal, () => aborter.abort(signal?.reason));
      try {
        return await this.#win(options, aborter.signal);
      } finally {
        stopListening();
      }
    });
  }

  lead<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
    const { runtime } = this.#context.leases;
    const { current } = this;
    const campaigner = this.#campaigner;
    const loop = new LeadLoop({ ...this.#context, runtime, campaigner, current }, work);
    const stop = () => loop.stop();
    return this.#alone('is led for already', stop, async () => {
      const stopListening = onAbort(signal, stop);
      if (signal?.aborted) stop();
      try {
        return await loop.run();
      } finally {
        stopListening();
      }
    });
  }

  async giveBack(wish: Wish): Promise<boolean> {
    return (await this.current.last?.giveBack(wish)) ?? false;
  }

  /** Ends what is under way, gives back what is held, and leaves the candidates. Never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#underWay?.stop();
    await this.#underWay?.over.opened;
    await this.giveBack({ cause: 'shutdown' });
    await this.#context.presence.settled();
  }

  async #win({ waitMs, outlasts }: Wanted, signal: AbortSignal): Promise<Lease | undefined> {
    const { runtime } = this.#context.leases;
    const startedAt = runtime.now();
    for (;;) {
      const passedMs = () => elapsedMs(startedAt, runtime.now());
      const leftMs = Math.max(0, waitMs - passedMs());
      const lease =
        outlasts === undefined
          ? await this.#campaigner.wait(signal, { waitMs: leftMs })
          : await this.#campaigner.win(signal, { isFirst: !outlasts.hasLed, waitMs: leftMs });
      if (lease === undefined) signal.throwIfAborted();
      // A lease that has ended already was never led by.
      if (lease === undefined || this.current.begin(lease, passedMs()) !== undefined) return lease;
    }
  }

  async #alone<R>(what: string, stop: () => void, run: () => Promise<R>): Promise<R> {
    this.#requireEligible();
    this.#requireIdle();
    const { presence } = this.#context;
    const over = new Latch();
    const leave = presence.hold();
    this.#underWay = { what, stop, over };
    try {
      return await run();
    } finally {
      this.#underWay = undefined;
      leave();
      await presence.settled();
      over.open();
    }
  }

  #requireEligible(): void {
    const { eligible, name } = this.#context.options;
    if (eligible) return;
    const remedy = `make the election "${name}" with eligible: true in a process that may lead`;
    throw new OptionError('eligible', eligible, 'lets this process only observe', remedy);
  }

  #requireIdle(): void {
    const { name } = this.#context.options;
    if (this.#closing !== undefined) throw new ClosedError('this set of elections');
    const { last, lease } = this.current;
    const what =
      this.#underWay?.what ??
      (lease && `is led by this process already (term ${lease.term})`) ??
      (last?.isSettled === false && `still runs the work of term ${last.lease.term}`);
    if (what) throw new CampaignUnderWayError(name, what);
  }
}
