/** What the long programs answer to `--help` and to arguments that they do not take: how they are called, and no stack. */

export const chaosUsage = `npm run chaos -- [--store NAME[,NAME]] [--duration 270s] [--seed N] [--without-fence]
                 [--faults KIND,KIND] [--at-once 4] [--report FILE.md] [--history FOLDER]

Real processes and servers under faults that a seed draws; see docs/chaos.md.`;

export const soakUsage = `npm run soak -- [--store NAME[,NAME]] [--duration 1h] [--sample-every 60s]
                [--leak memory|handles|keys] [--report FILE.md]

Replicas at work without any fault, and whether anything grows; see docs/chaos.md.`;

export const benchUsage = `npm run bench -- [NAME ...]                        these, on a Redis of their own; all if none is named
npm run bench -- [NAME ...] --stores NAME[,NAME]  those that every store has, on these stores (all: on every one)`;

export const modelUsage = `npm run model

Searches the models of spec/ and all of their variants; see docs/model.md.`;

export const longUsage = `npm run test:long -- [--only nodes|long] [ARGUMENT ...]

The suite on every supported Node, then the tests that take minutes. Other arguments go to the test runner.`;

/**
 * Answers whoever asks for help, and ends.
 *
 * @param {string} usage
 * @param {readonly string[]} args
 */
export function answerHelp(usage, args = process.argv.slice(2)) {
  if (!args.some((word) => word === '--help' || word === '-h')) return;
  console.log(usage);
  process.exit(0);
}

/**
 * What was read of the arguments; who gave others is told which, and how it is called.
 *
 * @template Settings
 * @param {string} usage
 * @param {() => Settings} read
 * @returns {Settings}
 */
export function readOrEnd(usage, read) {
  try {
    return read();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exit(64);
  }
}
