import {
  lockKey,
  OpeningStatements,
  PreparedOpening,
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
  readonly #prepared: OpeningStatements;
  readonly #lockKeys = new Map<string, string>();
  /** Of the last token of each name. */
  readonly #openings = new Map<string, KeptOpening>();

  constructor(options: ResolvedOptions, statements: FenceStatements) {
    this.#options = options;
    this.#statements = statements;
    this.#prepared = new OpeningStatements([statements.lockAtBegin, statements.lookAtBegin]);
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
    const { passAtBegin, lockAtBegin, lookAtBegin } = this.#statements;
    const key = this.lockKeyOf(name);
    const literals = { name, term, holderDigest, lockKey: key, idleLimitMs };
    const running = [
      [lockAtBegin, [key, shownDuration(idleLimitMs)]],
      [lookAtBegin, [name, String(term), holderDigest]],
    ] as const;
    return {
      ...{ term, holderDigest },
      mark: (nonce) => passAtBegin(literals, nonce),
      prepared: new PreparedOpening(this.#prepared, running, refusalIn),
    };
  }
}

/** What `fence_pass` raises, from the answers to `BEGIN` and to the two statements. */
function refusalIn([, lock, look]: readonly StatementAnswer[]): Error | undefined {
  const answer = lock?.fields[0] as LockAnswer | undefined;
  if (answer === 'locked' && look?.tag === 'SELECT 1') return undefined;
  const code = answer === 'isolation' ? otherIsolation : notInstalled;
  return Object.assign(new Error('the token does not pass'), { code });
}

function put<Value>(map: Map<string, Value>, name: string, value: Value): Value {
  if (!map.has(name) && map.size >= keptNames) map.clear();
  map.set(name, value);
  return value;
}
