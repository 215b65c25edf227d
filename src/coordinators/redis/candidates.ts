import type { RecordCorruptError } from '../../errors/index.js';
import { isolated, type Unsubscribe } from '../../events/index.js';
import type {
  Call,
  Candidate,
  EnrollRequest,
  EnrollResult,
  Standing,
  WithdrawRequest,
} from '../candidates.js';
import type { CallOptions } from '../contract.js';
import type { Holder } from '../holder.js';
import { validateName } from '../names.js';
import { compareCandidates } from '../order.js';
import { checkEnrollments, checkHolder, checkTimeout, checkWithdrawals } from '../requests.js';
import { badCandidates } from './answers.js';
import { whole } from './arguments.js';
import type { RedisKeys } from './keys.js';
import { ttlSlackMs } from './limits.js';
import { parseOwnRecord } from './record.js';
import { candidatesScript, enrollScript, withdrawScript } from './scripts/index.js';
import type { DecidingServer } from './server.js';

/*
 * The table of a name's candidates is a hash with two kinds of fields:
 *
 *   d:<digest of the holder>   1|<holder id>|<standing>|<preference>|<since>|<refreshed>|<ttl ms>|<metadata, or nothing>
 *   i:<holder id>              the digest of the incarnation that enrolled last under this id
 *
 * The queue is a sorted set of the digests of those who wait. Its score is (99 - preference) * 10^13 + the Unix time in ms
 * since which one waits, or a little more, so that newcomers stand behind everybody of their preference.
 */

const entry =
  /^1\|([^|]+)\|(waiting|present|observing)\|(\d{1,2})\|(\d{1,16})\|(\d{1,16})\|(\d{1,8})\|([\s\S]*)$/;

export type EnrollReply = readonly [
  text: string | null,
  remainingMs: number,
  suspension: string | null,
  position: number,
  duplicate: number,
  repaired: number,
];

/** Who waits for which name, who else is there, and whom to call. */
export class RedisCandidates {
  readonly #server: DecidingServer;
  readonly #keys: RedisKeys;
  readonly #onRepaired: (name: string) => void;

  /** `onRepaired` hears of records that were cut down to their own ttl. */
  constructor(server: DecidingServer, keys: RedisKeys, onRepaired: (name: string) => void) {
    this.#server = server;
    this.#keys = keys;
    this.#onRepaired = onRepaired;
  }

  async enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]> {
    const checked = checkEnrollments(requests);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    const places = checked.map(({ name }) => this.#keys.place(name));
    const keys = [
      this.#keys.suspended,
      ...places.map(({ lease }) => lease),
      ...places.map(({ queue }) => queue),
      ...places.map(({ candidates }) => candidates),
    ];
    const entries = checked.flatMap(({ name, holder, standing, preference, ttlMs, metadata }) => [
      name,
      holder.digest,
      holder.id,
      standing,
      preference,
      whole(ttlMs),
      metadata ?? '',
    ]);
    const args = [checked.length, ...entries];
    const reply = await this.#server.run(enrollScript, keys, args, timeoutMs);
    const [now, results] = reply as [string, EnrollReply[] | number];
    if (typeof results === 'number') throw this.#foreign(checked[results - 1]?.name ?? '');
    return results.map((one, index) => {
      const { name } = checked[index] as EnrollRequest;
      if (one[5] === 1) this.#onRepaired(name);
      return describe(name, one, Number(now));
    });
  }

  async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const checked = checkWithdrawals(requests);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return;
    const places = checked.map(({ name }) => this.#keys.place(name));
    const keys = [
      ...places.map(({ queue }) => queue),
      ...places.map(({ candidates }) => candidates),
    ];
    const holders = checked.flatMap(({ holder }) => [holder.digest, holder.id]);
    const args = [checked.length, ...holders];
    await this.#server.run(withdrawScript, keys, args, timeoutMs);
  }

  #foreign(name: string): RecordCorruptError {
    return badCandidates(name, this.#keys.place(name).candidates);
  }

  async list(name: string, call: CallOptions): Promise<Candidate[]> {
    const { queue, candidates } = this.#keys.place(validateName(name));
    const timeoutMs = checkTimeout(call);
    const keys = [queue, candidates];
    const reply = await this.#server.run(candidatesScript, keys, [], timeoutMs);
    if (reply === null) throw this.#foreign(name);
    const [now, fields, digests] = reply as [string, string[], string[]];
    const places = new Map(digests.map((digest, place) => [digest, place]));
    return parseTable(fields, Number(now))
      .map((candidate) => ({ candidate, since: places.get(candidate.digest) ?? places.size }))
      .sort((one, other) => compareCandidates(ranked(one), ranked(other)))
      .map(({ candidate }) => candidate);
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    checkHolder(holder);
    this.#server.session.throwIfClosed();
    const channel = `${this.#keys.calls}${holder.digest}`;
    const told = isolated('onCalled', called);
    return this.#server.session.subscriber.subscribe(channel, (message) => {
      const call = message === undefined ? anything : parseCall(message);
      if (call !== undefined) told(call);
    });
  }
}

/** After a reconnect. */
const anything: Call = { name: undefined, position: 0 };

/** `<position>|<name>`; what is none of ours calls nobody. */
export function parseCall(message: string): Call | undefined {
  const [, position, name] = /^(\d{1,4})\|(.+)$/.exec(message) ?? [];
  return name === undefined ? undefined : { name, position: Number(position) };
}

export function describe(
  name: string,
  [text, remainingMs, suspension, position, duplicate]: EnrollReply,
  nowMs: number,
): EnrollResult {
  return {
    position: position < 0 ? undefined : position,
    current: parseOwnRecord(name, { text, remainingMs, suspension, nowMs }),
    duplicate: duplicate === 1,
  };
}

interface Placed {
  readonly candidate: Candidate;
  /** The place in the queue. */
  readonly since: number;
}

function ranked({ candidate, since }: Placed) {
  const { standing, preference, id, digest } = candidate;
  // The queue knows the order already, preferences included.
  return { standing, preference: standing === 'waiting' ? 0 : preference, since, id, digest };
}

export function parseTable(fields: readonly string[], nowMs: number): Candidate[] {
  const alive: Candidate[] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const field = fields[at] ?? '';
    if (!field.startsWith('d:')) continue;
    const candidate = parseEntry(field.slice(2), fields[at + 1] ?? '', nowMs);
    if (candidate !== undefined) alive.push(candidate);
  }
  return alive;
}

/** `undefined` if the entry has ended, or is none of ours. */
function parseEntry(digest: string, text: string, nowMs: number): Candidate | undefined {
  const [, id, standing, preference, since, refreshed, ttl, metadata] = entry.exec(text) ?? [];
  if (id === undefined) return undefined;
  // Refreshed in the future: the server's clock was set back.
  const refreshedAtMs = Number(refreshed) > nowMs + ttlSlackMs ? nowMs : Number(refreshed);
  const remainingMs = refreshedAtMs + Number(ttl) - nowMs;
  if (remainingMs <= 0) return undefined;
  return {
    id,
    digest,
    standing: standing as Standing,
    preference: Number(preference),
    sinceMs: Number(since),
    remainingMs,
    metadata: metadata === '' ? undefined : metadata,
  };
}
