/**
 * The watchdog of `tenure run` and `tenure schedule`: a process of its own, started before the child, that its wrapper talks
 * to through a pipe. Its argument is the command on whose behalf it speaks.
 */
import { realRuntime } from '../../time/index.js';
import { passedSignals } from './passed-signals.js';
import { ProcessGroup } from './process-group.js';
import { Watchdog } from './watchdog.js';
import { eachLine, type WatchdogOrder } from './watchdog-messages.js';

// Whoever stops a service tells every process of it. This one ends when there is nothing left to watch over.
for (const signal of passedSignals) process.on(signal, () => {});
// Whoever listened may be gone.
for (const stream of [process.stdin, process.stdout, process.stderr]) stream.on('error', () => {});

const [, , command = 'run'] = process.argv;
const watchdog = new Watchdog({
  runtime: realRuntime,
  groupOf: (id) => new ProcessGroup(id),
  guarding: () => process.stdout.write('guarding\n'),
  tell: (words) => process.stderr.write(`tenure ${command}: watchdog: ${words}\n`),
  // Not an exit at once: what was told is still on its way.
  end: () => process.stdin.destroy(),
});
eachLine(process.stdin, (line) => watchdog.hear(JSON.parse(line) as WatchdogOrder));
for (const end of ['end', 'close']) process.stdin.on(end, () => watchdog.wrapperGone());
