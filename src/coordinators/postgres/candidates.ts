import type { Answer } from '../../drivers/postgres/index.js';
import type {
  Candidate,
  EnrollRequest,
  EnrollResult,
  Standing,
  WithdrawRequest,
} from '../candidates.js';
import type { CallOptions } from '../contract.js';
import { validateName } from '../names.js';
import { compareCandidates } from '../order.js';
import { checkEnrollments, checkTimeout, checkWithdrawals } from '../requests.js';
import { type LeaseReports, type MendingAnswer, whole } from './leases.js';
import { parseOwnSeen, type Seen } from './record.js';
import type { LeaseStore } from './store.js';

/** Who waits for which name, and who else is there. */
export class PostgresCandidates {
  readonly #store: LeaseStore;
  readonly #events: Pick<LeaseReports, 'repaired' | 'shown'>;

  constructor(store: LeaseStore, events: Pick<LeaseReports, 'repaired' | 'shown'>) {
    this.#store = store;
    this.#events = events;
  }

  async enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]> {
    const checked = checkEnrollments(requests);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    const values = [
      checked.map(({ name }) => name),
      checked.map(({ holder }) => holder.digest),
      checked.map(({ holder }) => holder.id),
      checked.map(({ standing }) => standing),
      checked.map(({ preference }) => preference),
      checked.map(({ ttlMs }) => whole(ttlMs)),
      checked.map(({ metadata }) => metadata ?? null),
    ];
    const answer = await this.#store.write<EnrollAnswer>('enroll', values, timeoutMs);
    for (const name of answer.mended ?? []) this.#events.repaired(name);
    return answer.answers.map(([position, seen, duplicate]) => {
      const current = parseOwnSeen(seen);
      if (current !== undefined) this.#events.shown(current.name);
      return { position: position ?? undefined, current, duplicate };
    });
  }

  async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const checked = checkWithdrawals(requests);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return;
    const values = [checked.map(({ name }) => name), checked.map(({ holder }) => holder.digest)];
    await this.#store.write('withdraw', values, timeoutMs);
  }

  async list(name: string, call: CallOptions): Promise<Candidate[]> {
    const values = [validateName(name)];
    const timeoutMs = checkTimeout(call);
    const answer = await this.#store.read<CandidatesAnswer>('candidates_of', values, timeoutMs);
    return [...answer.answers].sort(compareCandidates).map((entry) => ({
      id: entry.id,
      digest: entry.digest,
      standing: entry.standing,
      preference: entry.preference,
      sinceMs: entry.sinceMs,
      remainingMs: entry.leftMs,
      metadata: entry.metadata ?? undefined,
    }));
  }
}

interface EnrollAnswer extends MendingAnswer {
  readonly answers: readonly (readonly [
    position: number | null,
    Seen | null,
    duplicate: boolean,
  ])[];
}

interface CandidatesAnswer extends Answer {
  readonly answers: readonly {
    readonly id: string;
    readonly digest: string;
    readonly standing: Standing;
    readonly preference: number;
    readonly since: number;
    readonly sinceMs: number;
    readonly leftMs: number;
    readonly metadata: string | null;
  }[];
}
