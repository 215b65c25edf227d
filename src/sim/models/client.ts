import type { Call } from '../../coordinators/candidates.js';
import type { CoordinatorPromises } from '../../coordinators/contract.js';
import type { Holder } from '../../coordinators/holder.js';
import { memoryPromises } from '../../coordinators/memory/promises.js';
import { LedgerCoordinator, type LedgerStep } from '../../coordinators/rules/ledger-coordinator.js';
import { MemoryCaller } from '../../drivers/memory/index.js';
import type { Unsubscribe } from '../../events/index.js';
import type { SimLink } from '../network/link.js';
import type { Witness } from '../witness.js';
import type { Machine } from '../world/machine.js';
import type { StoreServer } from './server.js';

export interface ModelClientOptions {
  readonly process: Machine;
  readonly server: StoreServer;
  readonly link: SimLink;
  readonly witness: Witness;
  /** Whether the server refuses what arrives after its deadline. Default `true`. */
  readonly refusesLate?: boolean;
  /** What a server does with a step instead of executing it. Default: executes it. */
  readonly execute?: <Answer>(step: LedgerStep<Answer>) => Answer;
  readonly promises?: Partial<CoordinatorPromises>;
}

/**
 * The coordinator of one incarnation of a process, over the network to one server: it checks requests, sends the step, and
 * gives up in time; the server executes the step when it arrives, once, twice, late or never.
 */
export class ModelClient extends LedgerCoordinator {
  readonly promises: CoordinatorPromises;
  readonly #options: ModelClientOptions;
  readonly #caller: MemoryCaller;
  readonly #execute: <Answer>(step: LedgerStep<Answer>) => Answer;

  constructor(options: ModelClientOptions) {
    super();
    const { process, server, link, refusesLate = true } = options;
    this.#options = options;
    this.promises = { ...memoryPromises, scope: 'network', ...options.promises };
    this.#execute = options.execute ?? ((step) => server.execute(step));
    this.#caller = new MemoryCaller({
      what: 'store',
      runtime: process.runtime,
      link,
      // On a clock that stands still, no request is ever late.
      nowMs: refusesLate ? () => server.machine.clock.uptimeMs : () => 0,
    });
    const { incarnation } = process;
    this.#caller.attach(() =>
      server.connections.on('lost', () => process.deliver(() => this.#disconnected(incarnation))),
    );
  }

  /** Nothing settles in a process that is not any more. */
  #disconnected(incarnation: number): void {
    if (this.#options.process.incarnation === incarnation)
      this.#caller.giveUpAll('the connection to the store was lost');
  }

  protected override run<Answer>(step: LedgerStep<Answer>): Promise<Answer> {
    const { process, witness, refusesLate = true } = this.#options;
    const { id, world } = process;
    const { operation, timeoutMs, whenLate } = step;
    let hadSettled = false;
    const dueAtMs = refusesLate ? world.nowMs + timeoutMs : Number.POSITIVE_INFINITY;
    const execute = () => {
      const lateMs = world.nowMs - dueAtMs;
      witness.tell('executed', { process: id, operation, hadSettled, timeoutMs, lateMs });
      return this.#execute(step);
    };
    const answer = this.#caller.call(operation, timeoutMs, execute, whenLate);
    const settled = () => {
      hadSettled = true;
    };
    answer.then(settled, settled);
    return answer;
  }

  protected override throwIfClosed(): void {
    this.#caller.throwIfClosed();
  }

  override watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    const { watchers } = this.#options.server;
    return this.#caller.listen<string | undefined>((told) => watchers.watch(group, told), wake);
  }

  override onConnectionLost(lost: () => void): Unsubscribe {
    const { server } = this.#options;
    return this.#caller.listen((told) => server.connections.on('lost', told), lost);
  }

  override onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    const { watchers } = this.#options.server;
    return this.#caller.listen<Call>((told) => watchers.onCalled(holder, told), called);
  }

  override async close(): Promise<void> {
    this.#caller.close();
  }
}
