import type { Holder, LeaseRecord, Standing } from '../coordinators/index.js';
import { checkEnrollments } from '../coordinators/requests.js';
import { type Known, requireKnown } from '../errors/checks.js';

export interface EnrollOptions {
  /** `waiting`: to be called when the name is free. `present`: able to lead, not waiting. `observing`: only there. */
  readonly standing: Standing;
  /** Who waits with a higher preference is called first. Integer, 0 to 99; default 0. */
  readonly preference?: number;
  /** JSON text of at most 4 KiB that others see beside the candidate. */
  readonly metadata?: string;
}

/** The entry that an enrollment is part of. */
export interface EnrollmentHost {
  readonly name: string;
  readonly holder: Holder;
  readonly position: number | undefined;
  readonly current: LeaseRecord | undefined;
  /** What one of its enrollments asks for has changed. */
  update(): void;
  hurry(afterMs: number): void;
  leave(enrollment: Enrollment): Promise<void>;
}

/**
 * One reason to be among the candidates of a name. Several in one process are one entry in the store: it waits if one of
 * them does, with the highest preference of all and the metadata that was given first.
 *
 * It is refreshed until it is withdrawn or its `Leases` are closed. Errors of the store are tried again and not reported
 * here; the entry may end meanwhile, and the next refresh enters it anew.
 */
export class Enrollment {
  readonly #entry: EnrollmentHost;
  #options: EnrollOptions;
  #withdrawn: Promise<void> | undefined;

  /** @internal */
  constructor(entry: EnrollmentHost, options: EnrollOptions) {
    this.#entry = entry;
    this.#options = options;
  }

  get name(): string {
    return this.#entry.name;
  }

  /** What this enrollment asks for; the entry may say more, on behalf of others. */
  get options(): EnrollOptions {
    return this.#options;
  }

  /** The place in the queue at the last refresh, 0 for the first; `undefined` if not known, or nobody here waits. */
  get position(): number | undefined {
    return this.#entry.position;
  }

  /** What stood under the name at the last refresh; `undefined` if it was free, or is not known yet. */
  get current(): LeaseRecord | undefined {
    return this.#entry.current;
  }

  /**
   * Changes what is asked for, with a request that is sent at once; what is left out stays. Does nothing once withdrawn.
   *
   * @throws {OptionError} for what a store would refuse; nothing is changed then.
   */
  update(options: Partial<EnrollOptions>): void {
    const next = { ...this.#options, ...requireKnown('options', options, enrollKeys) };
    validateEnrollment(this.name, this.#entry.holder, next);
    this.#options = next;
    this.#entry.update();
  }

  /** @internal Refreshes the entry in `afterMs`, if that is not due before. */
  hurry(afterMs: number): void {
    this.#entry.hurry(afterMs);
  }

  /**
   * Takes this reason back. Never throws; resolves when the store has heard it, or could not be reached: then the entry
   * ends by itself. Safe to call twice.
   */
  withdraw(): Promise<void> {
    this.#withdrawn ??= this.#entry.leave(this);
    return this.#withdrawn;
  }
}

const enrollKeys: Known<EnrollOptions> = { standing: true, preference: true, metadata: true };

/** @throws {OptionError} for what a store would refuse, before it goes along with what others ask for. */
export function validateEnrollment(name: string, holder: Holder, options: EnrollOptions): void {
  const remedy = 'pass an object with a standing';
  const {
    standing,
    preference = 0,
    metadata,
  } = requireKnown('options', options, enrollKeys, remedy);
  const told = { name, holder, standing, preference, ttlMs: 1_000 };
  checkEnrollments([metadata === undefined ? told : { ...told, metadata }]);
}
