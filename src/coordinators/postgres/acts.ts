import type { Answer } from '../../drivers/postgres/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { Act, RevokeRequest } from '../acts.js';
import type { CallOptions } from '../contract.js';
import type { ActEntry, HistoryEntry } from '../history.js';
import { groupOf, validateName } from '../names.js';
import type { LeaseRecord } from '../record.js';
import { checkAct, checkRevocation, checkTimeout } from '../requests.js';
import { whole } from './leases.js';
import { parseOwnSeen, type Seen } from './record.js';
import type { LeaseStore } from './store.js';

/** What operators do to a name, and what is remembered of it. */
export class PostgresActs {
  readonly #store: LeaseStore;

  constructor(store: LeaseStore) {
    this.#store = store;
  }

  async revoke(
    name: string,
    request: RevokeRequest,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined> {
    const { term = null, by, reason, to = null, reserveMs = 0 } = checkRevocation(request);
    const what = [validateName(name), term, by, reason, to, whole(reserveMs)];
    return parseOwnSeen(await this.#act('revoke', what, call));
  }

  async suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord> {
    const { by, reason } = checkAct(act);
    const what = [validateName(name), groupOf(name), by, reason];
    const record = parseOwnSeen(await this.#act('suspend', what, call));
    if (record !== undefined) return record;
    throw new RecordCorruptError(
      `the suspension of "${name}" is not there. Is the schema's function "suspend" another one?`,
    );
  }

  async resume(name: string, act: Act, call: CallOptions): Promise<boolean> {
    const { by, reason } = checkAct(act);
    return await this.#act<boolean>('resume', [validateName(name), by, reason], call);
  }

  async #act<Result = Seen | null>(
    operation: string,
    what: readonly unknown[],
    call: CallOptions,
  ): Promise<Result> {
    const values = [this.#store.channel, ...what];
    const answer = await this.#store.write<Answer & { readonly answers: Result }>(
      operation,
      values,
      checkTimeout(call),
    );
    return answer.answers;
  }

  async history(name: string, call: CallOptions): Promise<HistoryEntry[]> {
    const values = [validateName(name)];
    const timeoutMs = checkTimeout(call);
    const answer = await this.#store.write<HistoryAnswer>('history_of', values, timeoutMs);
    return answer.answers.map(entryOf);
  }
}

interface Line {
  readonly kind: string;
  readonly atMs: number;
  readonly term: number | null;
  readonly holderId: string | null;
  readonly endedAtMs: number | null;
  readonly endReason: string | null;
  readonly act: string | null;
  readonly by: string | null;
  readonly reason: string | null;
  readonly to: string | null;
}

interface HistoryAnswer extends Answer {
  readonly answers: readonly Line[];
}

function entryOf(line: Line): HistoryEntry {
  if (line.kind === 'term') {
    return {
      kind: 'term',
      term: line.term ?? 0,
      holderId: line.holderId ?? '',
      grantedAtMs: line.atMs,
      endedAtMs: line.endedAtMs ?? undefined,
      endReason: line.endReason ?? undefined,
    };
  }
  return {
    kind: 'act',
    act: line.act as ActEntry['act'],
    by: line.by ?? '',
    reason: line.reason ?? '',
    atMs: line.atMs,
    ...(line.to === null ? {} : { to: line.to }),
  };
}
