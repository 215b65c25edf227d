import {
  lockKey,
  OpeningStatements,
  PreparedOpening,
  type PreparedStatement,
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
}

/** What the fence computes once for a name. A digest costs more than all else that is done for a transaction. */
export class Openings {
  readonly #options: ResolvedOptions;
  readonly #statements: FenceStatements;
  #lock: PreparedStatement;
  #prepared: OpeningStatements;
  readonly #lockKeys = new Map<string, string>();
  /** Of the last token of each name. */
  readonly #openings = new Map<string, KeptOpening>();

  /** @param areLimited whether sessions are expected to have the limits of the fence; the server is asked all the same. */
  constructor(options: ResolvedOptions, statements: FenceStatements, areLimited: boolean) {
    this.#options = options;
    this.#statements = statements;
    this.#lock = areLimited ? statements.lockAtBegin : statements.limitAndLockAtBegin;
    this.#prepared = this.#preparing();
  }

  /** From now on each transaction sets its limits: some session here does not have them as they should be. */
  setLimits(): void {
    if (this.#lock === this.#statements.limitAndLockAtBegin) return;
    this.#lock = this.#statements.limitAndLockAtBegin;
    this.#prepared = this.#preparing();
    this.#openings.clear();
  }

  #preparing(): OpeningStatements {
    return new OpeningStatements([this.#lock, this.#statements.lookAtBegin]);
  }

  lockKeyOf(name: string): string {
    const kept = this.#lockKeys.get(name);
    return kept ?? put(this.#lockKeys, name, lockKey(this.#options.schema, name));
  }

  of(candidate: Candidate): Opening {
    const { name, term, holderDigest } = candidate;
    const kept = this.#openings.get(name);
    const isSame = kept?.term === term && kept.holderDigest === holderDigest;
    return kept !== undefined && isSame ? kept : put(this.#openings, name, this.#make(candidate));
  }

  #make({ name, term, holderDigest }: Candidate): KeptOpening {
    const { idleInTransactionTimeoutMs: idleLimitMs } = this.#options;
    const { passAtBegin, lookAtBegin } = this.#statements;
    const key = this.lockKeyOf(name);
    const literals = { name, term, holderDigest, lockKey: key, idleLimitMs };
    const running = [
      [this.#lock, [key, shownDuration(idleLimitMs)]],
      [lookAtBegin, [name, String(term), holderDigest]],
    ] as const;
    return {
      ...{ term, holderDigest },
      mark: (nonce) => passAtBegin(literals, nonce),
      prepared: new PreparedOpening(this.#prepared, running, refusalIn),
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
