import { calledCount } from '../../coordinators/candidates.js';
import { Watchers } from '../../coordinators/memory/watchers.js';
import { whoMayHave } from '../../coordinators/rules/calls.js';
import type { LedgerStep } from '../../coordinators/rules/ledger-coordinator.js';
import { Emitter } from '../../events/index.js';
import type { Witness } from '../witness.js';
import { lastingRuntime } from '../world/lasting-runtime.js';
import type { Machine } from '../world/machine.js';
import { type LedgerHost, ModelLedger } from './ledger.js';

export interface StoreServerOptions {
  readonly machine: Machine;
  readonly witness: Witness;
  /** The clock that judges expiry, in milliseconds. Default: the machine's uptime. */
  readonly nowMs?: () => number;
  /** A term was granted that is no higher than one that was forgotten. */
  readonly onLowTerm?: () => void;
  /** Whether its records are those that count: a replica's are not told of. Default `true`. */
  readonly isTold?: boolean;
}

/** One server: its ledger, its clock, and who listens. What the models are built of. */
export class StoreServer {
  readonly machine: Machine;
  readonly connections = new Emitter<{ lost: undefined }>({ lost: true });
  /** The highest term that was granted here and is forgotten: what is granted below it is no higher than before. */
  forgottenTerm = 0;
  readonly #nowMs: () => number;
  readonly #onLowTerm: () => void;
  readonly #host: LedgerHost;
  readonly #witness: Witness;
  readonly watchers: Watchers;
  #ledger: ModelLedger;

  constructor(options: StoreServerOptions) {
    const { machine, witness, nowMs, isTold = true, onLowTerm = () => {} } = options;
    this.#onLowTerm = onLowTerm;
    this.machine = machine;
    this.#witness = witness;
    this.#nowMs = nowMs ?? (() => machine.clock.uptimeMs);
    this.#host = {
      nowMs: () => this.#nowMs(),
      wallMs: () => machine.clock.wallMs,
      altered: (name) => this.watchers.wake(name),
      vacated: (name) => this.#vacated(name),
      changed: (name, before, after, cause) => {
        if (isTold) witness.tell('changed', { name, before, after, cause });
      },
    };
    this.#ledger = new ModelLedger(this.#host);
    this.watchers = new Watchers(
      lastingRuntime(machine),
      () => this.#ledger.nextExpiryMs - this.#nowMs(),
      () => void this.expire(),
    );
  }

  get ledger(): ModelLedger {
    return this.#ledger;
  }

  nowMs(): number {
    return this.#nowMs();
  }

  execute<Answer>(step: Pick<LedgerStep<Answer>, 'execute'>): Answer {
    // Those who wait for an expiry are told of the next one once, below.
    const nowMs = this.#expire();
    const { lastTerm } = this.#ledger;
    try {
      return step.execute(this.#ledger, nowMs);
    } finally {
      if (this.#ledger.lastTerm !== lastTerm) this.#judgeTerm();
      this.watchers.rearm();
    }
  }

  expire(): number {
    const nowMs = this.#expire();
    this.watchers.rearm();
    return nowMs;
  }

  #expire(): number {
    const nowMs = this.#nowMs();
    this.#ledger.expire(nowMs);
    return nowMs;
  }

  #judgeTerm(): void {
    const isLow = this.#ledger.lastTerm <= this.forgottenTerm;
    // By its clock it could not know better: else a low term is a mistake.
    const isBehind = Math.floor(this.#host.wallMs()) <= this.forgottenTerm;
    if (isLow && isBehind) this.#onLowTerm();
  }

  /** It has this data from now on, for whatever reason; without any, it has forgotten everything. */
  adopt(data?: ModelLedger): void {
    this.#witness.tell('forgot', { server: this.machine.id });
    this.forgottenTerm = Math.max(this.forgottenTerm, this.#ledger.lastTerm);
    const before = this.#ledger.all;
    this.#ledger = data === undefined ? new ModelLedger(this.#host) : data.copy(this.#host);
    const after = this.#ledger.all;
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const [old, now] = [before.get(name), after.get(name)];
      if (old !== now) this.#host.changed(name, old, now, 'fault');
    }
    this.watchers.rearm();
  }

  /** What was done in the last so many milliseconds never was. */
  forget(lastMs: number): void {
    this.#witness.tell('forgot', { server: this.machine.id });
    this.forgottenTerm = Math.max(this.forgottenTerm, this.#ledger.lastTerm);
    this.#ledger.rewind(this.#nowMs() - lastMs);
    this.watchers.rearm();
  }

  /** All connections to it break; who was connected hears of it, and listens again. */
  disconnect(): void {
    this.connections.emit('lost', undefined);
    this.watchers.wakeAll();
    this.watchers.rearm();
  }

  #vacated(name: string): void {
    this.watchers.wake(name);
    const first = whoMayHave(this.#ledger, name, this.#nowMs()).slice(0, calledCount);
    this.watchers.call(
      name,
      first.map(({ holder }) => holder),
    );
  }
}
