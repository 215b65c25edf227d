import { RecordCorruptError, TenureError } from '../../errors/index.js';
import type { CallOptions } from '../contract.js';
import { groupOf } from '../names.js';
import type { LeaseRecord } from '../record.js';
import { checkGroup, checkNames, checkTimeout } from '../requests.js';
import { badRecord, foreign } from './answers.js';
import type { RedisKeys } from './keys.js';
import { outlivesItself, parseRecord } from './record.js';
import { cutScript, membersScript, readScript } from './scripts/index.js';
import type { DecidingServer } from './server.js';

/** How many records one step reads: few enough not to hold up renewals, and all shards of a usual group. */
const readChunkCount = 512;

/** What stands under a name, and in the table of suspensions; `null`: nothing. */
type RecordReply = readonly [text: string | null, remainingMs: number, suspension: string | null];

export interface ReadsListener {
  /** A list left out this name because what stands there is no record. */
  foreign(name: string): void;
  /** The record of this name was cut down to its own time. */
  repaired(name: string): void;
}

/**
 * What stands under names. Nothing here changes a lease, but that one which would outlive its own time is cut down to it:
 * whoever only looks until a name is free, as shard workers do, would otherwise never see that.
 */
export class RedisReads {
  readonly #server: DecidingServer;
  readonly #keys: RedisKeys;
  readonly #hears: ReadsListener;

  constructor(server: DecidingServer, keys: RedisKeys, hears: ReadsListener) {
    this.#server = server;
    this.#keys = keys;
    this.#hears = hears;
  }

  async read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    const checked = checkNames(names);
    const leftMs = this.#server.session.connection.budget(checkTimeout(call));
    const records: (LeaseRecord | undefined)[] = [];
    for (const chunk of chunks(checked)) {
      const found = await this.#readChunk(chunk, undefined, leftMs);
      for (const record of found) {
        if (record instanceof RecordCorruptError) throw record;
        records.push(record === 'free' ? undefined : record);
      }
    }
    return records;
  }

  async list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    const indexKey = this.#keys.group(checkGroup(group));
    const leftMs = this.#server.session.connection.budget(checkTimeout(call));
    const records: LeaseRecord[] = [];
    for (const chunk of chunks(await this.#namesIn(group, indexKey, leftMs()))) {
      const found = await this.#readChunk(chunk, indexKey, leftMs);
      for (const [index, record] of found.entries()) {
        if (record instanceof RecordCorruptError) this.#hears.foreign(chunk[index] as string);
        else if (record !== 'free') records.push(record);
      }
    }
    return records;
  }

  /** In order of their code units; some may be free by now. */
  async #namesIn(group: string, indexKey: string, timeoutMs: number): Promise<string[]> {
    const keys = [indexKey, this.#keys.suspended];
    const reply = await this.#server.run(membersScript, keys, [], timeoutMs);
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
    leftMs: () => number,
  ): Promise<(LeaseRecord | 'free' | RecordCorruptError)[]> {
    const leases = names.map((name) => this.#keys.place(name).lease);
    const keys = [this.#keys.suspended, ...leases, ...(indexKey === undefined ? [] : [indexKey])];
    const args = [names.length, ...names];
    const reply = await this.#server.run(readScript, keys, args, leftMs());
    const [now, replies] = reply as [string, RecordReply[]];
    const odd: string[] = [];
    const found = replies.map(([text, remainingMs, suspension], index) => {
      const name = names[index] as string;
      const stands = { text, remainingMs, suspension, nowMs: Number(now) };
      if (outlivesItself(stands)) odd.push(name);
      return parseRecord(name, stands) ?? foreign(this.#keys, name, stands);
    });
    if (odd.length > 0) await this.#cut(odd, leftMs());
    return found;
  }

  /** What was read stands, also if this fails: the next read, or an acquisition, tries again. */
  async #cut(names: readonly string[], timeoutMs: number): Promise<void> {
    const keys = names.map((name) => this.#keys.place(name).lease);
    try {
      const reply = await this.#server.run(cutScript, keys, [], timeoutMs);
      for (const number of reply as number[]) this.#hears.repaired(names[number - 1] as string);
    } catch (error) {
      if (!(error instanceof TenureError)) throw error;
    }
  }
}

function* chunks(names: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < names.length; from += readChunkCount)
    yield names.slice(from, from + readChunkCount);
}
