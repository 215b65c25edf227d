import type { RedisSession } from '../../drivers/redis/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { CallOptions } from '../contract.js';
import { groupOf } from '../names.js';
import type { LeaseRecord } from '../record.js';
import { checkGroup, checkNames, checkTimeout } from '../requests.js';
import { badRecord, foreign } from './answers.js';
import type { RedisKeys } from './keys.js';
import { parseRecord } from './record.js';
import { membersScript, readScript } from './scripts/index.js';

/** How many records one step reads: few enough not to hold up renewals, and all shards of a usual group. */
const readChunkCount = 512;

/** What stands under a name, and in the table of suspensions; `null`: nothing. */
type RecordReply = readonly [text: string | null, remainingMs: number, suspension: string | null];

/** What stands under names; nothing here changes a lease. */
export class RedisReads {
  readonly #session: RedisSession;
  readonly #keys: RedisKeys;
  readonly #onForeign: (name: string) => void;

  /** `onForeign` hears of names that a list left out because what stands there is no record. */
  constructor(session: RedisSession, keys: RedisKeys, onForeign: (name: string) => void) {
    this.#session = session;
    this.#keys = keys;
    this.#onForeign = onForeign;
  }

  async read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    const checked = checkNames(names);
    const leftMs = this.#session.connection.budget(checkTimeout(call));
    const records: (LeaseRecord | undefined)[] = [];
    for (const chunk of chunks(checked)) {
      const found = await this.#readChunk(chunk, undefined, leftMs());
      for (const record of found) {
        if (record instanceof RecordCorruptError) throw record;
        records.push(record === 'free' ? undefined : record);
      }
    }
    return records;
  }

  async list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    const indexKey = this.#keys.group(checkGroup(group));
    const leftMs = this.#session.connection.budget(checkTimeout(call));
    const records: LeaseRecord[] = [];
    for (const chunk of chunks(await this.#namesIn(group, indexKey, leftMs()))) {
      const found = await this.#readChunk(chunk, indexKey, leftMs());
      for (const [index, record] of found.entries()) {
        if (record instanceof RecordCorruptError) this.#onForeign(chunk[index] as string);
        else if (record !== 'free') records.push(record);
      }
    }
    return records;
  }

  /** In order of their code units; some may be free by now. */
  async #namesIn(group: string, indexKey: string, timeoutMs: number): Promise<string[]> {
    const keys = [indexKey, this.#keys.suspended];
    const reply = await this.#session.connection.run(membersScript, keys, [], timeoutMs);
    if (reply === null)
      throw badRecord(
        `in the place of the index of group "${group}", or of the suspended names (the key "${this.#keys.suspended}"),`,
        indexKey,
      );
    const [members, suspended] = reply as [string[], string[]];
    const beside = suspended.filter((name) => groupOf(name) === group);
    return [...new Set([...members, ...beside])].sort();
  }

  /** With an index, what it says of names that are free is forgotten. */
  async #readChunk(
    names: readonly string[],
    indexKey: string | undefined,
    timeoutMs: number,
  ): Promise<(LeaseRecord | 'free' | RecordCorruptError)[]> {
    const leases = names.map((name) => this.#keys.place(name).lease);
    const keys = [this.#keys.suspended, ...leases, ...(indexKey === undefined ? [] : [indexKey])];
    const args = [names.length, ...names];
    const reply = await this.#session.connection.run(readScript, keys, args, timeoutMs);
    const [now, found] = reply as [string, RecordReply[]];
    return found.map(([text, remainingMs, suspension], index) => {
      const name = names[index] as string;
      const stands = { text, remainingMs, suspension, nowMs: Number(now) };
      return parseRecord(name, stands) ?? foreign(this.#keys, name, stands);
    });
  }
}

function* chunks(names: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < names.length; from += readChunkCount)
    yield names.slice(from, from + readChunkCount);
}
