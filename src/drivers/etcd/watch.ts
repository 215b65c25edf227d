import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Endpoint } from '../endpoint.js';
import { failureOf } from './errors.js';
import { open } from './exchange.js';
import {
  type EtcdKeyValue,
  type KeyRange,
  keyValue,
  type RawKeyValue,
  safeInteger,
  watchFields,
} from './kv.js';
import type { MemberFault } from './member-order.js';
import type { Members } from './members.js';

export interface EtcdEvent {
  readonly kind: 'put' | 'delete';
  /** Of a deleted key, the key alone. */
  readonly keyValue: EtcdKeyValue;
}

export interface WatchedRange extends KeyRange {
  /** Only what happened after this revision matters. Default: as for the whole watch. */
  readonly after?: number;
  /** Nothing is said of what is put there. Default `false`. */
  readonly onlyDeletions?: boolean;
}

export interface WatchOptions {
  readonly client: Members;
  readonly ranges: readonly WatchedRange[];
  /** From which revision on, unless a range says otherwise; `undefined`: from now on. */
  readonly startRevision: number | undefined;
  /** All ranges are watched from here on. */
  readonly onReady: (revision: number) => void;
  readonly onEvents: (events: readonly EtcdEvent[]) => void;
  /** It has ended; `compactedAt`: what was asked for is not kept any more. */
  readonly onEnd: (compactedAt: number | undefined) => void;
}

interface RawWatch {
  readonly header?: { readonly revision?: string };
  readonly created?: boolean;
  readonly canceled?: boolean;
  readonly compact_revision?: string;
  readonly events?: readonly { readonly type?: string; readonly kv?: RawKeyValue }[];
}

const openingMs = 2_000;
const probeMs = 10_000;

/** One watch of any number of ranges, over a connection of its own. It begins once and ends once. */
export class EtcdWatch {
  readonly #options: WatchOptions;
  #request: ClientRequest | undefined;
  #endpoint: Endpoint | undefined;
  #createdCount = 0;
  #hasEnded = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#open().catch(() => this.#end());
  }

  stop(): void {
    this.#hasEnded = true;
    this.#request?.destroy();
  }

  async #open(): Promise<void> {
    const { client, ranges, startRevision } = this.#options;
    const body = ranges.map((range) => createRequest(range, startRevision)).join('');
    const deadline = client.deadline(openingMs);
    const parts = await client.stream('/v3/watch', body, deadline);
    if (this.#hasEnded) return;
    this.#endpoint = parts.endpoint;
    const request = open(parts);
    this.#request = request;
    const timer = client.runtime.setTimer(openingMs, () => this.#end(undefined, 'silent'), {
      keepsProcessAlive: false,
    });
    request.on('socket', (socket) => {
      client.noteSocket(parts.endpoint, socket, () => !this.#hasEnded);
      // A member that is gone without a word would otherwise never be missed.
      socket.setKeepAlive(true, probeMs);
      socket.unref();
    });
    request.on('error', () => this.#end());
    request.on('close', () => {
      timer.cancel();
      this.#end();
    });
    request.on('response', (response) => {
      timer.cancel();
      client.noteAnswer(parts.endpoint);
      this.#read(response);
    });
  }

  #read(response: IncomingMessage): void {
    let rest = '';
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '' && !this.#hasEnded) this.#take(line);
    });
    response.on('error', () => this.#end());
    response.on('end', () => this.#end());
  }

  #take(line: string): void {
    let raw: object;
    try {
      raw = JSON.parse(line);
    } catch {
      this.#end();
      return;
    }
    const { result } = raw as { result?: RawWatch };
    const failure = failureOf(raw);
    if (failure !== undefined || result === undefined) {
      this.#options.client.noteFailure(failure);
      this.#end();
      return;
    }
    const { created, canceled, compact_revision: compacted, events = [] } = result;
    const compactedAt = safeInteger(compacted);
    if (canceled || compactedAt > 0) {
      this.#end(compactedAt > 0 ? compactedAt : undefined);
      return;
    }
    const revision = safeInteger(result.header?.revision);
    if (created) {
      this.#createdCount += 1;
      if (this.#createdCount === this.#options.ranges.length) this.#options.onReady(revision);
    }
    if (events.length > 0) this.#options.onEvents(events.map(eventOf));
  }

  #end(compactedAt?: number, fault: MemberFault = 'broken'): void {
    if (this.#hasEnded) return;
    this.stop();
    const { client, onEnd } = this.#options;
    if (compactedAt === undefined && this.#endpoint !== undefined)
      client.avoid(this.#endpoint, fault);
    onEnd(compactedAt);
  }
}

function createRequest(range: WatchedRange, startRevision: number | undefined): string {
  const { after, onlyDeletions = false } = range;
  const start = after === undefined ? startRevision : after + 1;
  const fields = {
    ...watchFields(range),
    ...(start === undefined ? {} : { start_revision: String(start) }),
    ...(onlyDeletions ? { filters: ['NOPUT'] } : {}),
  };
  return JSON.stringify({ create_request: fields });
}

function eventOf({ type, kv }: { readonly type?: string; readonly kv?: RawKeyValue }): EtcdEvent {
  return { kind: type === 'DELETE' ? 'delete' : 'put', keyValue: keyValue(kv ?? {}) };
}
