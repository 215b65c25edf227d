import type { Act, RevokeRequest } from '../acts.js';
import type { CallOptions } from '../contract.js';
import type { HistoryEntry } from '../history.js';
import { validateName } from '../names.js';
import type { LeaseRecord } from '../record.js';
import { checkAct, checkRevocation, checkTimeout } from '../requests.js';
import { badHistory, badSuspension, badSuspensions } from './answers.js';
import { whole } from './arguments.js';
import { parseLine } from './history.js';
import type { RedisKeys } from './keys.js';
import { parseOwnRecord } from './record.js';
import { historyScript, resumeScript, revokeScript, suspendScript } from './scripts/index.js';
import type { DecidingServer } from './server.js';
import { encodeWords } from './words.js';
import type { RedisWrites } from './writes.js';

/** What operators do to a name, and what is remembered of it. */
export class RedisActs {
  readonly #server: DecidingServer;
  readonly #writes: RedisWrites;
  readonly #keys: RedisKeys;

  constructor(server: DecidingServer, writes: RedisWrites, keys: RedisKeys) {
    this.#server = server;
    this.#writes = writes;
    this.#keys = keys;
  }

  async revoke(
    name: string,
    request: RevokeRequest,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined> {
    const { term, to = '', reserveMs = 0 } = checkRevocation(request);
    const { keys, wake } = this.#placeOf(name);
    const args = [encodeWords(request), to, whole(reserveMs), name, String(term ?? ''), wake];
    const reply = await this.#writes.run(revokeScript, keys, args, checkTimeout(call));
    return standsAt(this.#keys, name, reply);
  }

  async suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord> {
    const words = encodeWords(checkAct(act));
    const { keys, wake } = this.#placeOf(name);
    const args = [words, name, wake];
    const reply = await this.#writes.run(suspendScript, keys, args, checkTimeout(call));
    const record = standsAt(this.#keys, name, reply);
    if (record === undefined) throw badSuspension(name, this.#keys.suspended);
    return record;
  }

  async resume(name: string, act: Act, call: CallOptions): Promise<boolean> {
    const words = encodeWords(checkAct(act));
    const { lease, history, queue, candidates, group } = this.#keys.place(validateName(name));
    const keys = [this.#keys.suspended, lease, history, queue, candidates];
    const args = [words, name, this.#keys.wake(group), this.#keys.calls];
    const reply = await this.#writes.run(resumeScript, keys, args, checkTimeout(call));
    if (reply === 'corrupt') throw badSuspensions(this.#keys.suspended);
    if (reply === 'foreign') throw badSuspension(name, this.#keys.suspended);
    return reply === 1;
  }

  async history(name: string, call: CallOptions): Promise<HistoryEntry[]> {
    const { lease, history } = this.#keys.place(validateName(name));
    const reply = await this.#server.run(historyScript, [lease, history], [], checkTimeout(call));
    if (reply === 'corrupt') throw badHistory(name, history);
    return (reply as string[]).map((text) => {
      const line = parseLine(text);
      if (line === undefined) throw badHistory(name, history);
      return line;
    });
  }

  #placeOf(name: string): { readonly keys: string[]; readonly wake: string } {
    const { lease, history, group } = this.#keys.place(validateName(name));
    const keys = [this.#keys.suspended, lease, history, this.#keys.group(group)];
    return { keys, wake: this.#keys.wake(group) };
  }
}

/** `undefined`: the name is free, or something stands there that is not ours and is left alone. */
function standsAt(keys: RedisKeys, name: string, reply: unknown): LeaseRecord | undefined {
  type Reply = readonly [now: string, text: string | null, remainingMs: number, string | null];
  const [now, text = null, remainingMs, suspension = null] = reply as Reply;
  if (now === 'corrupt') throw badSuspensions(keys.suspended);
  return parseOwnRecord(name, { text, remainingMs, suspension, nowMs: Number(now) });
}
