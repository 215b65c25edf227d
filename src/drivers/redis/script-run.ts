import { outcomeUnknown } from '../../errors/unanswered.js';
import { replyCode } from './errors.js';
import type { Caller, Link } from './link.js';
import { type Confirmation, shortfallOf } from './replicas.js';
import type { Retries } from './retries.js';
import { type RedisScript, type ScriptCall, thinlyDone } from './script.js';

/** What the connection does about a run that one try on a link has not settled. */
export interface Runs {
  nowMs(): number;
  /** The server found it too late by its own clock, and has executed nothing. */
  tooLate(run: ScriptRun): void;
  /** An error: an answer of the server, or that there was none. */
  failed(run: ScriptRun, link: Link, error: Error): void;
}

/** What a script returned. */
export interface Answered {
  readonly value: unknown;
  /** Absent if no confirmation was asked for. */
  readonly shortfall: Promise<string | undefined> | undefined;
}

/** Who asked for a run, and is told what became of it: by one of the two methods, once. */
export interface RunTaker {
  resolve(answered: Answered): void;
  reject(error: Error): void;
}

/**
 * One run of a script, from the call until it settles, with all that is known of it in one object: each write makes one, and
 * a chain of promises and closures in its place costs as much as the write.
 */
export class ScriptRun implements Caller {
  readonly script: RedisScript;
  readonly deadlineMs: number;
  /** What was tried again already; made when something is. */
  retries: Retries | undefined;
  readonly #runs: Runs;
  readonly #call: ScriptCall;
  readonly #confirmation: Confirmation | undefined;
  readonly #taker: RunTaker;
  #link: Link | undefined;
  #sentAtMs = 0;
  #isWithText = false;
  #shortfall: Promise<string | undefined> | undefined;

  constructor(
    runs: Runs,
    script: RedisScript,
    call: ScriptCall,
    deadlineMs: number,
    confirmation: Confirmation | undefined,
    taker: RunTaker,
  ) {
    this.#runs = runs;
    this.script = script;
    this.#call = call;
    this.deadlineMs = deadlineMs;
    this.#confirmation = confirmation;
    this.#taker = taker;
  }

  get what(): string {
    return this.#call.what ?? this.script.name;
  }

  reject(error: Error): void {
    this.#taker.reject(error);
  }

  /**
   * Once with its text, and from then on by its digest; again with its text if the server has forgotten that. The first
   * run on a socket takes no question and answer: if its reply is lost, it was executed none the less.
   */
  sendOn(link: Link, nowMs: number): void {
    this.#link = link;
    this.#sentAtMs = nowMs;
    this.#send(link, !link.scripts.has(this.script.sha), nowMs);
  }

  #send(link: Link, isWithText: boolean, nowMs: number): void {
    this.#isWithText = isWithText;
    const { script, deadlineMs } = this;
    const { keys, args } = this.#call;
    const words: (string | number)[] = [isWithText ? script.lua : script.sha, keys.length];
    for (const key of keys) words.push(key);
    words.push(Math.floor(link.clock.serverMsBefore(deadlineMs)));
    for (const arg of args) words.push(arg);
    link.send(isWithText ? 'eval' : 'evalsha', words, this, nowMs);
    // Not after the answer: by then others may have written on this socket, and would be waited for as well.
    if (this.#confirmation !== undefined)
      this.#shortfall = shortfallOf(link, this.#confirmation, nowMs, deadlineMs);
  }

  answered(reply: unknown): void {
    const link = this.#link as Link;
    const { script } = this;
    const parts: readonly unknown[] = Array.isArray(reply) ? reply : [];
    const serverMs = Number(parts[0]);
    const isThin = parts[1] === thinlyDone;
    const isDone = isThin || parts[1] === 'done';
    if (!(serverMs > 0) || (!isDone && parts[1] !== 'too-late')) {
      this.#garbage(link);
      return;
    }
    if (this.#isWithText) link.scripts.add(script.sha);
    link.clock.observe(serverMs, this.#sentAtMs, this.#runs.nowMs());
    if (isDone)
      this.#taker.resolve({ value: isThin ? parts : parts[2], shortfall: this.#shortfall });
    else this.#runs.tooLate(this);
  }

  /** What is no answer of our script is somebody else's, or garbage: nothing on this link can be believed any more. */
  #garbage(link: Link): void {
    link.end('it answered with something that is no answer');
    this.reject(
      outcomeUnknown(
        undefined,
        `${this.what} was sent to ${link.address}, which answered with something that is no answer of it: it may or may not have been executed. Is there a proxy in between?`,
      ),
    );
  }

  failed(error: Error): void {
    const link = this.#link as Link;
    if (!this.#isWithText && replyCode(error) === 'NOSCRIPT')
      this.#send(link, true, this.#runs.nowMs());
    else this.#runs.failed(this, link, error);
  }
}
