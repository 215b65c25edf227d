import { redactSecrets } from '../errors/index.js';
import { heedsItsLease } from './lease-errors.js';

/** One for each kind of work. */
export type WorkWarningCode =
  | 'TENURE_WORK_FAILED'
  | 'TENURE_WORK_RETURNED'
  | 'TENURE_RUN_FAILED'
  | 'TENURE_HANDLER_FAILED';

export interface WorkWarningOptions {
  readonly code: WorkWarningCode;
  /** Whose work it is, as the subject of a sentence. */
  readonly who: string;
  /** What would hear of it, as a piece of code. */
  readonly listen: string;
}

/** No message is longer: what was thrown may have a text of any length. */
const longestWhy = 1_000;

/**
 * Says once, as a process warning, that work which is called again and again does not do what it should, for who has found
 * that nobody listens to that: a typo in it would else look like work that waits for its turn.
 */
export class WorkWarning {
  readonly #options: WorkWarningOptions;
  #isTold = false;

  constructor(options: WorkWarningOptions) {
    this.#options = options;
  }

  /**
   * What only heeds the end of a lease, or the doubt whether it is held, is no failure of the work: the lease tells of it.
   *
   * @param next what follows, after "it failed, and".
   */
  failed(error: unknown, next: string): void {
    if (!this.#isTold && !heedsItsLease(error)) this.tell(`failed, and ${next}: ${whyOf(error)}`);
  }

  /** @param what it did, without a dot. */
  tell(what: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    const { code, who, listen } = this.#options;
    process.emitWarning(
      `${who} ${what}. Nobody listens to that: use ${listen}, or logEvents of tenure/log.`,
      { type: 'TenureWorkWarning', code },
    );
  }
}

/** Anything can be thrown, also what throws when it is asked for its text. What is no error may be a payload, and is not shown. */
function whyOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error))
      return `it threw no error, but a value of type ${typeof thrown}`;
    const text = `${thrown.name}: ${thrown.message}`.replace(/\p{Cc}+/gu, ' ');
    const why = redactSecrets(text).replace(/\.$/, '');
    const place = placeOf(String(thrown.stack));
    return `${why.length > longestWhy ? `${why.slice(0, longestWhy)}…` : why}${place}`;
  } catch {
    return 'it threw something that has no text';
  }
}

/** Where the code of the user is in a stack: the first line that is neither Node's nor an installed package's. */
function placeOf(stack: string): string {
  const isOwn = (line: string) =>
    /^\s+at /.test(line) && !/\bnode:|[\\/]node_modules[\\/]/.test(line);
  const line = stack.split('\n').find(isOwn);
  return line === undefined ? '' : `, ${redactSecrets(line.trim())}`;
}
