import type { ActEntry, HistoryEntry, TermEntry } from '../coordinators/index.js';
import type { Evidence, LossEvidence, NoteEvidence, RefusalEvidence } from '../elections/index.js';
import { Kept } from './kept.js';
import type { TimedSource } from './store-time.js';

/** How one term ended, by the store's history and by what its holder saw. Times are Unix times by the store's clock. */
export interface Ending {
  readonly term: number;
  readonly holderId: string;
  readonly grantedAtMs: number;
  readonly endedAtMs: number;
  /** As the history has it; `undefined` if it has lost the term, and only its holder's evidence tells of it. */
  readonly storeReason: string | undefined;
  /** How long nobody led after it; `undefined` if somebody did before it ended, or it is not known. */
  readonly vacantMs: number | undefined;
  /** For how long before that its holder led no more, as it told: it had given up, or stood still. */
  readonly idleMs: number;
  readonly loss: LossEvidence | undefined;
  /** The term that a fence had installed when it ended this one was granted by the store, so that it is nothing new to it. */
  readonly isSuccessorKnown: boolean;
  readonly notes: readonly NoteEvidence[];
  readonly refusals: readonly RefusalEvidence[];
  /** Its holder has told nothing of it that is kept, and may have told what is kept no longer. */
  readonly isEvidenceGone: boolean;
  /** Its holder has told nothing of any term that is kept. */
  readonly isHolderSilent: boolean;
}

/** All that is known of an election in some time. */
export interface Facts {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Oldest first. */
  readonly endings: readonly Ending[];
  /** Notes that are about no term. */
  readonly notes: readonly NoteEvidence[];
  readonly acts: readonly ActEntry[];
  /** What fences refused, of all terms. A count falls where its last one does. */
  readonly refusals: readonly RefusalEvidence[];
  /** Terms that began in that time. */
  readonly termCount: number;
  /** How long nobody led in that time, as far as it is known: {@link unledMs} of each ending. */
  readonly vacantMs: number;
  /** The longest of that at a time: for so long the work waited. */
  readonly longestVacantMs: number;
}

/** What both tell of the time from `fromMs` (included) to `toMs`. A term counts where it ended. */
export function factsOf(source: TimedSource, fromMs: number, toMs: number): Facts {
  const { name, history, evidence } = source;
  const isWithin = (atMs: number) => atMs >= fromMs && atMs < toMs;
  const terms = allTerms(history, evidence);
  const kept = new Kept(source);
  const endings = terms.flatMap((term, index) =>
    endingOf(term, index, terms, evidence, kept, toMs),
  );
  const vacancies = endings.map((ending) => overlapMs(ending, fromMs, toMs));
  return {
    name,
    fromMs,
    toMs,
    endings: endings.filter(({ endedAtMs }) => isWithin(endedAtMs)),
    notes: evidence.filter(
      (entry): entry is NoteEvidence =>
        entry.kind === 'note' && isWithin(entry.atMs) && !isAboutATerm(entry, terms),
    ),
    refusals: evidence.filter(
      (entry): entry is RefusalEvidence => entry.kind === 'refusals' && isWithin(entry.atMs),
    ),
    acts: history.filter(
      (entry): entry is ActEntry => entry.kind === 'act' && isWithin(entry.atMs),
    ),
    termCount: terms.filter(({ grantedAtMs }) => isWithin(grantedAtMs)).length,
    vacantMs: vacancies.reduce((sum, ms) => sum + ms, 0),
    longestVacantMs: Math.max(0, ...vacancies),
  };
}

/** How long nobody led around an ending. */
export function unledMs({ idleMs, vacantMs = 0 }: Ending): number {
  return idleMs + vacantMs;
}

/** The part of that which lies within a time. */
function overlapMs(
  { endedAtMs, idleMs, vacantMs = 0 }: Ending,
  fromMs: number,
  toMs: number,
): number {
  return Math.max(0, Math.min(endedAtMs + vacantMs, toMs) - Math.max(endedAtMs - idleMs, fromMs));
}

/** Whoever noticed the end late stood still until then. All in time since the grant, so that no two clocks are compared. */
function idleOf(lastedMs: number, loss: LossEvidence | undefined): number {
  if (loss === undefined) return 0;
  const { heldMs, machine, reason } = loss;
  const isLate = heldMs >= lastedMs && (reason === 'expired' || reason === 'stalled');
  const ledMs = isLate ? heldMs - machine.longestStall.forMs : heldMs;
  return Math.min(lastedMs, Math.max(0, lastedMs - ledMs));
}

export function refusedCountOf(refusals: readonly RefusalEvidence[]): number {
  return refusals.reduce((sum, { count }) => sum + count, 0);
}

type Term = Omit<TermEntry, 'kind'>;

/** In order of their terms, which is the order in which they were granted. A store that lost its data lost their lines. */
function allTerms(history: readonly HistoryEntry[], evidence: readonly Evidence[]): Term[] {
  const terms = new Map<number, Term>();
  for (const entry of evidence) {
    if (entry.kind !== 'loss') continue;
    const { term, holderId, atMs, heldMs } = entry;
    const grantedAtMs = atMs - heldMs;
    terms.set(term, { term, holderId, grantedAtMs, endedAtMs: atMs, endReason: undefined });
  }
  for (const entry of history) if (entry.kind === 'term') terms.set(entry.term, entry);
  return [...terms.values()].sort((a, b) => a.term - b.term);
}

function endingOf(
  { term, holderId, grantedAtMs, endedAtMs, endReason }: Term,
  index: number,
  terms: readonly Term[],
  evidence: readonly Evidence[],
  kept: Kept,
  nowMs: number,
): Ending[] {
  if (endedAtMs === undefined || endedAtMs > nowMs) return [];
  const own = evidence.filter((entry) => entry.term === term && entry.holderId === holderId);
  const vacantUntilMs = terms[index + 1]?.grantedAtMs ?? nowMs;
  const loss = own.find((entry): entry is LossEvidence => entry.kind === 'loss');
  const isUntold = own.every(({ kind }) => kind === 'refusals');
  const isGone = isUntold && kept.isGone({ holderId, endedAtMs }, endReason);
  return [
    {
      term,
      holderId,
      grantedAtMs,
      endedAtMs,
      storeReason: endReason,
      vacantMs: vacantUntilMs < endedAtMs ? undefined : vacantUntilMs - endedAtMs,
      idleMs: idleOf(Math.max(0, endedAtMs - grantedAtMs), loss),
      loss,
      isSuccessorKnown: terms.some((one) => one.term > term && one.term === loss?.installedTerm),
      notes: own.filter((entry): entry is NoteEvidence => entry.kind === 'note'),
      refusals: own.filter((entry): entry is RefusalEvidence => entry.kind === 'refusals'),
      isEvidenceGone: isGone,
      isHolderSilent: !kept.tells(holderId),
    },
  ];
}

/** A note about a term that goes on, or of which nothing is known, stands for itself. */
function isAboutATerm({ term }: NoteEvidence, terms: readonly Term[]): boolean {
  return terms.some((one) => one.term === term && one.endedAtMs !== undefined);
}
