import process from 'node:process';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

/**
 * Ends the run with a line `N passed, N failed, N skipped`, alone, as the last line of all.
 *
 * What is not a test but went wrong counts as failed: a file that did not load, a hook that threw,
 * an error nobody handled, a server that did not start. A run in which no test ran has failed.
 * Before it, a line for each test that passed only at its second try.
 */
export class SummaryReporter implements Reporter {
  #passed = 0;
  #failed = 0;
  #skipped = 0;
  #ended = false;
  #triedAgain: string[] = [];

  onInit(): void {
    // On exit, since other reporters and the teardown print after the end of the tests.
    process.once('exit', () => {
      const wentWrong = !this.#ended || this.#passed === 0 || Boolean(process.exitCode);
      if (wentWrong && this.#failed === 0) this.#failed = 1;
      if (this.#failed > 0) process.exitCode ||= 1;
      for (const line of this.#triedAgain) process.stdout.write(`\n${line}`);
      process.stdout.write(
        `\n${this.#passed} passed, ${this.#failed} failed, ${this.#skipped} skipped\n`,
      );
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    this.#passed = 0;
    this.#failed = unhandled.length;
    this.#skipped = 0;
    this.#ended = true;
    this.#triedAgain = [];
    for (const module of modules) this.#count(module);
  }

  #count(module: TestModule): void {
    const failedBefore = this.#failed;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (test.diagnostic()?.flaky) this.#triedAgain.push(tryLine(test));
      if (state === 'passed') this.#passed += 1;
      else if (state === 'skipped') this.#skipped += 1;
      else this.#failed += 1;
    }
    this.#failed += module.errors().length;
    for (const suite of module.children.allSuites()) this.#failed += suite.errors().length;
    const failedUnseen = module.state() === 'failed' && this.#failed === failedBefore;
    if (failedUnseen) this.#failed += 1;
  }
}

function tryLine(test: TestCase): string {
  const [first] = test.result().errors ?? [];
  return `passed only at its second try: ${test.module.relativeModuleId} > ${test.fullName}: ${first?.message ?? ''}`;
}
