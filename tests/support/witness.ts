/**
 * A witness against those who believe that they lead: it keeps every write that was tried on a resource, and judges them
 * by what the store says about terms. It shares no code with what it judges. What it keeps is plain data, so that it can
 * come from another process as well.
 */

/** One write that somebody tried, as the resource saw it. */
export interface Attempt {
  /** By the clock of the resource, which is that of the store but for a tolerance. */
  readonly atMs: number;
  readonly holderId: string;
  /** Tells incarnations of one id apart. */
  readonly digest: string;
  readonly term: number;
  readonly wasAccepted: boolean;
}

/** Who held the name from when to when, as the store's history has it. */
export interface WitnessedTerm {
  readonly term: number;
  readonly holderId: string;
  readonly grantedAtMs: number;
  /** `undefined` while it lasts. */
  readonly endedAtMs: number | undefined;
}

export class Witness {
  readonly attempts: Attempt[] = [];
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Keeps a write that was tried. Pass a lease as the writer. */
  record(
    writer: {
      readonly term: number;
      readonly holder: { readonly id: string; readonly digest: string };
    },
    wasAccepted: boolean,
  ): void {
    const { term, holder } = writer;
    const { id: holderId, digest } = holder;
    this.attempts.push({ atMs: this.#nowMs(), holderId, digest, term, wasAccepted });
  }

  get accepted(): Attempt[] {
    return this.attempts.filter(({ wasAccepted }) => wasAccepted);
  }

  get refused(): Attempt[] {
    return this.attempts.filter(({ wasAccepted }) => !wasAccepted);
  }

  /** What went wrong, one line each; nothing if all is well. */
  violations(terms: readonly WitnessedTerm[], toleranceMs = 0): string[] {
    return judge(this.attempts, terms, toleranceMs);
  }
}

/**
 * Accepted terms never fall; no two incarnations write in one term; nobody writes outside the time for which the store had
 * given the name to them, but for `toleranceMs` (what clocks differ by, and what passes between a check and its write).
 */
export function judge(
  attempts: readonly Attempt[],
  terms: readonly WitnessedTerm[],
  toleranceMs: number,
): string[] {
  const accepted = attempts.filter(({ wasAccepted }) => wasAccepted);
  const known = new Map(terms.map((term) => [term.term, term]));
  return [
    ...fallingTerms(accepted),
    ...sharedTerms(accepted),
    ...accepted.flatMap((attempt) => outsideItsTerm(attempt, known.get(attempt.term), toleranceMs)),
  ];
}

/** Of accepted writes, in the order in which they were accepted. */
export function fallingTerms(accepted: readonly Attempt[]): string[] {
  let highest = 0;
  return accepted.flatMap((attempt) => {
    const before = highest;
    highest = Math.max(highest, attempt.term);
    return attempt.term < before ? [`${show(attempt)} was accepted after term ${before}`] : [];
  });
}

/** As {@link fallingTerms}. */
export function sharedTerms(accepted: readonly Attempt[]): string[] {
  const holders = new Map<number, string>();
  return accepted.flatMap((attempt) => {
    const holder = holders.get(attempt.term) ?? attempt.digest;
    holders.set(attempt.term, holder);
    return holder === attempt.digest ? [] : [`${show(attempt)} wrote in somebody else's term`];
  });
}

function outsideItsTerm(
  attempt: Attempt,
  term: WitnessedTerm | undefined,
  toleranceMs: number,
): string[] {
  const { atMs, holderId } = attempt;
  if (term === undefined) return [`${show(attempt)} wrote in a term that was never granted`];
  if (term.holderId !== holderId)
    return [`${show(attempt)} wrote in a term that was granted to ${term.holderId}`];
  if (atMs < term.grantedAtMs - toleranceMs) return [`${show(attempt)} wrote before its grant`];
  if (term.endedAtMs !== undefined && atMs > term.endedAtMs + toleranceMs)
    return [`${show(attempt)} wrote ${atMs - term.endedAtMs} ms after its term had ended`];
  return [];
}

function show({ holderId, term, atMs }: Attempt): string {
  return `${holderId} (term ${term}, at ${atMs})`;
}
