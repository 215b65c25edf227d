import {
  beginStatement,
  lockKey,
  PreparedGuard,
  PreparedOpening,
  type PreparedStatement,
  PreparedStatements,
  type StatementAnswer,
  type TransactionSteps,
} from '../../drivers/postgres/index.js';
import type { Candidate } from '../rule.js';
import type { ResolvedOptions } from './options.js';
import {
  type FenceStatements,
  type LockAnswer,
  notInstalled,
  otherIsolation,
  otherLimits,
  shownDuration,
} from './statements.js';

const keptNames = 4_096;

/** How a transaction begins under a token that is installed already: in one message, in the cheapest way there is. */
export interface Opening {
  readonly mark: NonNullable<TransactionSteps['mark']>;
  readonly prepared: PreparedOpening;
}

/** Nothing of whoever asked is kept with it: that may be a lease, and all that hangs on it. */
interface KeptOpening extends Opening {
  readonly term: number;
  readonly holderDigest: string;
  readonly guard: PreparedGuard;
  /** Something was committed under it here. */
  isInstalled: boolean;
}

/** What the fence computes once for a name. A digest costs more than all else that is done for a transaction. */
export class Openings {
  readonly #options: ResolvedOptions;
  readonly #statements: FenceStatements;
  #lock: PreparedStatement;
  #prepared: PreparedStatements;
  readonly #guarding: PreparedStatements;
  readonly #lockKeys = new Map<string, string>();
  /** Of the last token of each name. */
  readonly #openings = new Map<string, KeptOpening>();

  /** @param areLimited whether sessions are expected to have the limits of the fence; the server is asked all the same. */
  constructor(options: ResolvedOptions, statements: FenceStatements, areLimited: boolean) {
    this.#options = options;
    this.#statements = statements;
    this.#lock = areLimited ? statements.lockAtBegin : statements.limitAndLockAtBegin;
    this.#prepared = this.#preparing();
    this.#guarding = new PreparedStatements([statements.lockOrFail, statements.lookOrFail]);
  }

  /** From now on each transaction sets its limits: some session here does not have them as they should be. */
  setLimits(): void {
    if (this.#lock === this.#statements.limitAndLockAtBegin) return;
    this.#lock = this.#statements.limitAndLockAtBegin;
    this.#prepared = this.#preparing();
    this.#openings.clear();
  }

  #preparing(): PreparedStatements {
    return new PreparedStatements([beginStatement, this.#lock, this.#statements.lookAtBegin]);
  }

  lockKeyOf(name: string): string {
    const kept = this.#lockKeys.get(name);
    return kept ?? put(this.#lockKeys, name, lockKey(this.#options.schema, name));
  }

  /** What one statement goes out with that is a transaction of its own. `undefined` unless it was installed before. */
  guardOf(candidate: Candidate): PreparedGuard | undefined {
    const { guard, isInstalled } = this.#of(candidate);
    return isInstalled && guard.statements.areKept ? guard : undefined;
  }

  /** Something was, under the candidate. */
  committed(candidate: Candidate): void {
    this.#of(candidate).isInstalled = true;
  }

  of(candidate: Candidate): Opening {
    return this.#of(candidate);
  }

  #of(candidate: Candidate): KeptOpening {
    const { name, term, holderDigest } = candidate;
    const kept = this.#openings.get(name);
    const isSame = kept?.term === term && kept.holderDigest === holderDigest;
    return kept !== undefined && isSame ? kept : put(this.#openings, name, this.#make(candidate));
  }

  #make({ name, term, holderDigest }: Candidate): KeptOpening {
    const { idleInTransactionTimeoutMs: idleLimitMs } = this.#options;
    const { passAtBegin, lookAtBegin, lockOrFail, lookOrFail } = this.#statements;
    const key = this.lockKeyOf(name);
    const literals = { name, term, holderDigest, lockKey: key, idleLimitMs };
    const installed = [name, String(term), holderDigest];
    const running = [
      [this.#lock, [key, shownDuration(idleLimitMs)]],
      [lookAtBegin, installed],
    ] as const;
    const guarding = [
      [lockOrFail, [key]],
      [lookOrFail, installed],
    ] as const;
    return {
      ...{ term, holderDigest, isInstalled: false },
      mark: (nonce) => passAtBegin(literals, nonce),
      prepared: new PreparedOpening(this.#prepared, running, refusalIn),
      guard: new PreparedGuard(this.#guarding, guarding),
    };
  }
}

/** The SQLSTATE by which the begin of a transaction is refused; `locked`: what is installed is not the token. */
const refusals: Readonly<Record<LockAnswer, string>> = {
  locked: notInstalled,
  busy: notInstalled,
  isolation: otherIsolation,
  limits: otherLimits,
};

/** What `fence_pass` raises, from the answers to `BEGIN` and to the two statements. */
function refusalIn([, lock, look]: readonly StatementAnswer[]): Error | undefined {
  const answer = lock?.fields[0] as LockAnswer | undefined;
  if (answer === 'locked' && look?.tag === 'SELECT 1') return undefined;
  const code = answer === undefined ? notInstalled : refusals[answer];
  return Object.assign(new Error('the token does not pass'), { code });
}

function put<Value>(map: Map<string, Value>, name: string, value: Value): Value {
  if (!map.has(name) && map.size >= keptNames) map.clear();
  map.set(name, value);
  return value;
}
