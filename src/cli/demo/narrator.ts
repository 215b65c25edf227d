import type { Terminal } from '../terminal.js';
import { wrap } from '../wrap.js';
import type { MessageFacts } from './news.js';
import type { Answer } from './sink.js';
import type { Verdict } from './verdict.js';

/** Terminals are at least this wide. */
const width = 80;
const indent = '   ';

/** Tells the story, and keeps count of the claims that did not hold. */
export class Narrator {
  readonly #terminal: Terminal;
  readonly #broken: string[] = [];
  #stepCount = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  get brokenClaims(): readonly string[] {
    return this.#broken;
  }

  title(text: string, lines: readonly string[]): void {
    this.#terminal.print(this.#terminal.style('bold', text));
    this.#terminal.print();
    for (const line of lines) this.#terminal.print(line);
  }

  step(title: string): void {
    this.#stepCount += 1;
    this.#terminal.print();
    this.#terminal.print(this.#terminal.style('bold', `${this.#stepCount}. ${title}`));
  }

  /** Something that happened. */
  say(text = ''): void {
    if (text === '') this.#terminal.print();
    else
      for (const line of wrap(text, width - indent.length))
        this.#terminal.print(`${indent}${line}`);
  }

  /** A claim and whether it held. */
  prove(holds: boolean, claim: string): void {
    if (!holds) this.#broken.push(claim);
    const mark = holds
      ? this.#terminal.style('green', 'ok')
      : this.#terminal.style('red', 'FAILED');
    const [first, ...rest] = wrap(claim, width - indent.length - 'FAILED '.length);
    this.#terminal.print(`${indent}${mark} ${first}`);
    for (const line of rest) this.#terminal.print(`${indent}   ${line}`);
  }

  /** Somebody's own words. */
  quote(text: string): void {
    for (const line of wrap(text, width - indent.length - 5))
      this.#terminal.print(`${indent}   | ${this.#terminal.style('yellow', line)}`);
  }

  /** One line of the conversation that is followed, when it has its answer. */
  answered({ customer, seq, text }: MessageFacts, worker: string): void {
    const line = `${customer} ${`#${seq}`.padStart(3)}  ${text.padEnd(25)} answered by ${worker}`;
    this.#terminal.print(`${indent}${this.#terminal.style('cyan', line)}`);
  }

  verdict(verdict: Verdict): void {
    const row = (name: string, count: number) => `${name.padEnd(32)}${String(count).padStart(6)}`;
    this.say(row('messages published', verdict.publishedCount));
    this.say(row('messages handled', verdict.handledCount));
    if (verdict.waitingCount > 0) this.say(row('not yet handled', verdict.waitingCount));
    this.say(row('lost', verdict.lostCount));
    this.say(row('duplicated effects', verdict.duplicateCount));
    this.say(row('inversions within a customer', verdict.inversionCount));
    this.say(row('two at a customer at once', verdict.overlapCount));
    this.say(row('stale writes accepted', verdict.staleCount + verdict.refusedButKeptCount));
    this.say(row('stale writes refused', verdict.refusedCount));
  }

  /** A whole conversation from the sink. `changeOf` says what brought a new owner, where there is one. */
  conversation(answers: readonly Answer[], changeOf: (answer: Answer) => string): void {
    let term: number | undefined;
    for (const answer of answers) {
      if (answer.term !== term) this.say(this.#terminal.style('dim', `-- ${changeOf(answer)}`));
      ({ term } = answer);
      const { seq, text, reply, worker } = answer;
      this.say(`${`#${seq}`.padStart(3)}  ${text.padEnd(24)}  ${reply.padEnd(17)}  ${worker}`);
    }
  }

  end(): void {
    this.#terminal.print();
    if (this.#broken.length === 0) {
      this.#terminal.print(this.#terminal.style('green', 'Everything that was claimed held.'));
      return;
    }
    const count = this.#broken.length === 1 ? '1 claim' : `${this.#broken.length} claims`;
    this.#terminal.print(this.#terminal.style('red', `${count} did not hold:`));
    for (const claim of this.#broken) this.say(claim);
  }
}
