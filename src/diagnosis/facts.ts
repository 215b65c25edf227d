import type { ActEntry, HistoryEntry, TermEntry } from '../coordinators/index.js';
import type { Evidence, LossEvidence, NoteEvidence } from '../elections/index.js';

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
  readonly loss: LossEvidence | undefined;
  readonly notes: readonly NoteEvidence[];
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
  /** Terms that began in that time. */
  readonly termCount: number;
  /** How long nobody led in that time, as far as it is known. */
  readonly vacantMs: number;
}

export interface Source {
  readonly name: string;
  readonly history: readonly HistoryEntry[];
  readonly evidence: readonly Evidence[];
}

/** What both tell of the time from `fromMs` (included) to `toMs`. A term counts where it ended. */
export function factsOf({ name, history, evidence }: Source, fromMs: number, toMs: number): Facts {
  const isWithin = (atMs: number) => atMs >= fromMs && atMs < toMs;
  const terms = allTerms(history, evidence);
  const endings = terms.flatMap((term, index) => endingOf(term, terms[index + 1], evidence, toMs));
  return {
    name,
    fromMs,
    toMs,
    endings: endings.filter(({ endedAtMs }) => isWithin(endedAtMs)),
    notes: evidence.filter(
      (entry): entry is NoteEvidence =>
        entry.kind === 'note' && isWithin(entry.atMs) && !isAboutATerm(entry, terms),
    ),
    acts: history.filter(
      (entry): entry is ActEntry => entry.kind === 'act' && isWithin(entry.atMs),
    ),
    termCount: terms.filter(({ grantedAtMs }) => isWithin(grantedAtMs)).length,
    vacantMs: endings.reduce((sum, ending) => sum + overlapMs(ending, fromMs, toMs), 0),
  };
}

/** The part of what followed an ending that lies within a time. */
export function overlapMs(
  { endedAtMs, vacantMs = 0 }: Ending,
  fromMs: number,
  toMs: number,
): number {
  return Math.max(0, Math.min(endedAtMs + vacantMs, toMs) - Math.max(endedAtMs, fromMs));
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
  next: Term | undefined,
  evidence: readonly Evidence[],
  nowMs: number,
): Ending[] {
  if (endedAtMs === undefined || endedAtMs > nowMs) return [];
  const own = evidence.filter((entry) => entry.term === term && entry.holderId === holderId);
  const vacantUntilMs = next?.grantedAtMs ?? nowMs;
  return [
    {
      term,
      holderId,
      grantedAtMs,
      endedAtMs,
      storeReason: endReason,
      vacantMs: vacantUntilMs < endedAtMs ? undefined : vacantUntilMs - endedAtMs,
      loss: own.find((entry): entry is LossEvidence => entry.kind === 'loss'),
      notes: own.filter((entry): entry is NoteEvidence => entry.kind === 'note'),
    },
  ];
}

/** A note about a term that goes on, or of which nothing is known, stands for itself. */
function isAboutATerm({ term }: NoteEvidence, terms: readonly Term[]): boolean {
  return terms.some((one) => one.term === term && one.endedAtMs !== undefined);
}
