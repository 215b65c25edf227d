import { type TermTrace, traced, traces } from '../events/index.js';
import type { EndReason, Lease } from '../leases/index.js';
import type { Runtime } from '../time/index.js';
import type { Announcer } from './announcer.js';
import { Latch } from './latch.js';
import { LedTerm } from './led-term.js';
import type { ResolvedElectionOptions } from './options.js';
import type { Presence } from './presence.js';
import type { UnheardWork } from './unheard-work.js';

export interface CurrentTermOptions {
  readonly runtime: Runtime;
  readonly options: ResolvedElectionOptions;
  readonly announcer: Announcer;
  readonly presence: Presence;
  readonly unheard: UnheardWork;
}

/** The term this process leads in, and the telling of its beginning and its end: each once, after the state. */
export class CurrentTerm {
  readonly #context: CurrentTermOptions;
  #term: LedTerm | undefined;
  /** For each term that was told to have begun, what to do when it has ended. */
  readonly #begun = new Map<Lease, (reason: EndReason) => void>();

  constructor(context: CurrentTermOptions) {
    this.#context = context;
  }

  /** The last term there was; it may be over, and its work may still run. */
  get last(): LedTerm | undefined {
    return this.#term;
  }

  /** The lease, by the clock; `undefined` if this process does not lead. */
  get lease(): Lease | undefined {
    const lease = this.#term?.lease;
    return lease?.endReason === undefined ? lease : undefined;
  }

  /** Begins a term; `undefined` if its lease has ended already (the process was frozen, say), and nothing is told. */
  begin(lease: Lease, campaignMs: number): LedTerm | undefined {
    if (lease.endReason !== undefined) return undefined;
    const { runtime, options, announcer, presence, unheard } = this.#context;
    const { drainMs } = options;
    const { term } = lease;
    const led = new LedTerm({
      lease,
      runtime,
      drainMs,
      overdue: () => {
        announcer.tell('workOverdue', { term });
        unheard.overdue(drainMs);
      },
    });
    this.#term = led;
    const leave = presence.hold();
    const traceEnded = trace(lease);
    this.#begun.set(lease, (reason) => {
      leave();
      traceEnded(reason);
    });
    announcer.tell('elected', { lease, campaignMs });
    return led;
  }

  /** A lease of this name has ended, whoever ended it. */
  ended(how: 'lost' | 'resigned', lease: Lease, reason: EndReason): void {
    const end = this.#begun.get(lease);
    if (end === undefined) return;
    this.#begun.delete(lease);
    end(reason);
    this.#context.announcer.tell(how, { lease, reason });
  }
}

function trace({ name, term, holder }: Lease): (reason: EndReason) => void {
  const over = new Latch();
  const context: TermTrace = { name, id: holder.id, term };
  void traced(traces.term, context, () => over.opened);
  return (reason) => {
    context.reason = reason;
    over.open();
  };
}
