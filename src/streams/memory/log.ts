import { RecordCorruptError } from '../../errors/index.js';
import { type InstalledTerm, judge } from '../../fences/rule.js';
import type {
  CorruptLog,
  InstallResult,
  OpenResult,
  PublishRequest,
  PublishResult,
  SealResult,
  StaleToken,
  StepRequest,
  StepResult,
  StoredMessage,
} from '../contract.js';

interface KeyState {
  lastSeq: number;
  isSealed: boolean;
  /** Of the table of pins that last sealed or opened it. */
  version: number;
}

interface AcceptedId {
  readonly seq: number;
  readonly forgetAtMs: number;
}

/** When something happens: on the clock that judges ids, and on the wall clock that messages are stamped with. */
export interface LogTime {
  readonly elapsedMs: number;
  readonly wallMs: number;
}

/** Stands in the log where somebody else wrote something. */
interface ForeignEntry {
  readonly isForeign: true;
  readonly appendedAtMs: number;
}

const foreign = 'was not written by tenure. It is left as it is; remove it.';
const corruptState: CorruptLog = { outcome: 'corrupt', detail: `the state of the log ${foreign}` };

/** One shard's log: its unfinished messages in order, and what it knows about keys, ids and its owner. */
export class ShardLog {
  readonly #messages = new Map<number, StoredMessage | ForeignEntry>();
  readonly #keys = new Map<string, KeyState>();
  /** Oldest first, since every id is remembered equally long. */
  readonly #ids = new Map<string, AcceptedId>();
  readonly #dedupeWindowMs: number;
  #lastPosition = 0;
  #owner: InstalledTerm | undefined;
  #isStateForeign = false;

  constructor(dedupeWindowMs: number) {
    this.#dedupeWindowMs = dedupeWindowMs;
  }

  get messageCount(): number {
    return this.#messages.size;
  }

  get oldest(): { readonly appendedAtMs: number } | undefined {
    return this.#messages.values().next().value;
  }

  /** Somebody else appends something. Returns how to remove it. */
  appendForeign(time: LogTime): () => void {
    this.#lastPosition += 1;
    const position = this.#lastPosition;
    this.#messages.set(position, { isForeign: true, appendedAtMs: time.wallMs });
    return () => void this.#messages.delete(position);
  }

  /** Somebody else writes over what is known about the owner and the keys. Returns how to undo it. */
  overwriteState(): () => void {
    this.#isStateForeign = true;
    return () => {
      this.#isStateForeign = false;
    };
  }

  /** Decides, numbers and appends in one step: two publishers can never take one number. */
  append(request: PublishRequest, time: LogTime): PublishResult {
    if (this.#isStateForeign) return corruptState;
    this.#forgetIds(time.elapsedMs);
    const { key, id, payload } = request;
    const state = this.#key(key);
    const nameOfId = JSON.stringify([key, id]);
    const seq = request.seq ?? state.lastSeq + 1;
    if (seq <= state.lastSeq) return { outcome: 'duplicate', seq };
    // Before the seal: a retry of what was accepted here must not be sent on to where the key lives now.
    const known = this.#ids.get(nameOfId);
    if (known !== undefined && (state.isSealed || seq === state.lastSeq + 1)) {
      return { outcome: 'duplicate', seq: known.seq };
    }
    if (state.isSealed) return { outcome: 'moved' };
    if (seq > state.lastSeq + 1) return { outcome: 'gap', lastSeq: state.lastSeq };

    state.lastSeq = seq;
    this.#ids.set(nameOfId, { seq, forgetAtMs: time.elapsedMs + this.#dedupeWindowMs });
    this.#lastPosition += 1;
    this.#messages.set(this.#lastPosition, {
      position: String(this.#lastPosition),
      key,
      seq,
      id,
      payload,
      appendedAtMs: time.wallMs,
    });
    return { outcome: 'appended', seq };
  }

  install(candidate: InstalledTerm): InstallResult {
    if (this.#isStateForeign) return corruptState;
    if (judge(this.#owner, candidate) === 'refuse') return this.#stale();
    this.#owner = candidate;
    return { outcome: 'installed' };
  }

  /** The comparison with the owner comes first: a stale one neither removes nor reads. */
  step(request: StepRequest): StepResult {
    if (this.#isStateForeign) return corruptState;
    const { token } = request;
    const isOwner =
      this.#owner?.term === token.term && this.#owner.holderDigest === token.holder.digest;
    if (!isOwner) return this.#stale();
    let acknowledgedCount = 0;
    for (const position of request.acknowledge) {
      if (this.#messages.delete(Number(position))) acknowledgedCount += 1;
    }
    const messages = this.#read(request);
    if (messages === undefined)
      return { outcome: 'corrupt', detail: `an entry of the log ${foreign}` };
    return { outcome: 'ok', messages, acknowledgedCount };
  }

  seal(key: string, version: number): SealResult {
    const state = this.#key(key);
    if (version < state.version) return { outcome: 'superseded' };
    state.version = version;
    state.isSealed = true;
    const drained = !this.#holds(key);
    return { outcome: 'sealed', lastSeq: state.lastSeq, drained };
  }

  open(key: string, lastSeq: number, version: number): OpenResult {
    const state = this.#key(key);
    if (version < state.version) return { outcome: 'superseded' };
    state.version = version;
    state.lastSeq = Math.max(state.lastSeq, lastSeq);
    state.isSealed = false;
    return { outcome: 'opened' };
  }

  /** Up to the first foreign entry; nothing if that is the next. */
  #read({ after, limit }: StepRequest): StoredMessage[] | undefined {
    const messages: StoredMessage[] = [];
    const afterPosition = Number(after ?? 0);
    for (const [position, message] of this.#messages) {
      if (messages.length === limit) break;
      if (position <= afterPosition) continue;
      if ('isForeign' in message) return messages.length === 0 ? undefined : messages;
      messages.push(message);
    }
    return messages;
  }

  #holds(key: string): boolean {
    for (const message of this.#messages.values()) {
      if ('isForeign' in message) throw new RecordCorruptError(`an entry of the log ${foreign}`);
      if (message.key === key) return true;
    }
    return false;
  }

  #key(key: string): KeyState {
    if (this.#isStateForeign) throw new RecordCorruptError(corruptState.detail);
    let state = this.#keys.get(key);
    if (state === undefined) {
      state = { lastSeq: 0, isSealed: false, version: 0 };
      this.#keys.set(key, state);
    }
    return state;
  }

  #forgetIds(nowMs: number): void {
    for (const [id, { forgetAtMs }] of this.#ids) {
      if (forgetAtMs > nowMs) return;
      this.#ids.delete(id);
    }
  }

  #stale(): StaleToken {
    return { outcome: 'stale', installedTerm: this.#owner?.term };
  }
}
