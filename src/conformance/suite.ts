import assert from 'node:assert/strict';

/** The two functions of a test framework that the suites use; those of vitest, node:test and jest all fit. */
export interface TestFramework {
  describe(title: string, define: () => void): unknown;
  it(title: string, run: () => Promise<void>): unknown;
}

/** One requirement of a contract, in a form that can fail. */
export interface SuiteCase<Subject, Control extends string = never> {
  /** `<theme>/<what>`: stable, so that reports and known deviations can name it. */
  readonly id: string;
  /** The requirement, in the present tense. */
  readonly title: string;
  /** The controls it cannot do without. */
  readonly needs: readonly Control[];
  /** Throws unless the subject meets the requirement. The subject is used for this case alone. */
  run(subject: Subject): Promise<void>;
}

/** What a suite is run on. */
export interface SuiteTarget<Subject, Control extends string = never> {
  /** Heading of the suite's report, e.g. `redis 7`. */
  readonly name: string;
  /**
   * The controls that cannot exist here, each with the reason. Their cases are reported as not applicable; a control that
   * is neither here nor offered by the subject fails its cases.
   */
  readonly impossible: Partial<Record<Control, string>>;
  /** A subject in which nothing was ever done. Called once per case. */
  create(): Promise<Subject>;
}

/** What every subject has: its controls, ways to break it, and an end. */
interface Controllable<Control extends string> {
  readonly controls: Partial<Record<Control, unknown>>;
  close(): Promise<void>;
}

/**
 * Registers every case for one target, as one test each.
 *
 * A case that does not apply is registered as well, with the reason in its title: nothing is skipped in silence.
 *
 * @param exemption why the target need not pass a case although it could be run; `undefined` if it must.
 */
export function registerSuite<
  Subject extends Controllable<Control>,
  Control extends string,
  Case extends SuiteCase<Subject, Control>,
>(
  heading: string,
  cases: readonly Case[],
  target: SuiteTarget<Subject, Control>,
  framework: TestFramework,
  exemption: (suiteCase: Case) => string | undefined = () => undefined,
): void {
  framework.describe(`${heading}: ${target.name}`, () => {
    for (const suiteCase of cases) {
      const { id, title, needs } = suiteCase;
      const impossible = needs.map((need) => target.impossible[need]);
      const reason = impossible.find((why) => why !== undefined) ?? exemption(suiteCase);
      if (reason === undefined) {
        framework.it(`${id}: ${title}`, () => runConformanceCase(suiteCase, target));
      } else {
        framework.it(`not applicable: ${id}: ${title} (${reason})`, async () =>
          assert.notEqual(reason.trim(), '', 'a declaration of impossibility gives its reason'),
        );
      }
    }
  });
}

/** Runs one case on a subject of its own. Rejects if the requirement is not met, or a control it needs is missing. */
export async function runConformanceCase<
  Subject extends Controllable<Control>,
  Control extends string,
>(
  suiteCase: SuiteCase<Subject, Control>,
  target: Pick<SuiteTarget<Subject, Control>, 'create'>,
): Promise<void> {
  const subject = await target.create();
  try {
    for (const need of suiteCase.needs) {
      assert.ok(
        subject.controls[need],
        `"${suiteCase.id}" needs the control "${need}": offer it, or declare it impossible with a reason`,
      );
    }
    await suiteCase.run(subject);
  } finally {
    await subject.close();
  }
}
