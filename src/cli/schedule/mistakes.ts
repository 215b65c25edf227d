import { OptionError } from '../../errors/index.js';

/** Several at once, in the order of their lines. */
export class MistakesError extends AggregateError {
  declare readonly errors: OptionError[];

  constructor(errors: readonly OptionError[]) {
    super(errors, errors.map(({ message }) => message).join('\n'));
    this.name = 'MistakesError';
  }
}

/** What is wrong with a file: who corrects it wants to know all of it. */
export class Mistakes {
  readonly #errors: OptionError[] = [];

  add(error: OptionError): void {
    this.#errors.push(error);
  }

  /** What was read, or `undefined` and a mistake more. */
  of<Value>(read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      this.add(error);
      return undefined;
    }
  }

  /** As {@link of}, for a part that may be left out. */
  ofPart<Part, Value>(part: Part | undefined, read: (part: Part) => Value): Value | undefined {
    return part === undefined ? undefined : this.of(() => read(part));
  }

  /** @throws {OptionError} if there is one mistake. @throws {MistakesError} for several. */
  throwIfAny(): void {
    const [only, ...others] = this.#errors;
    if (only === undefined) return;
    if (others.length === 0) throw only;
    throw new MistakesError([...this.#errors].sort((a, b) => lineOf(a) - lineOf(b)));
  }
}

/** Of `jobs.yaml:7: jobs.settle.cron`. */
function lineOf({ option }: OptionError): number {
  return Number(/:(\d+)(?::|$)/.exec(option)?.[1] ?? 0);
}
