import { exitStatus, InterruptedError } from './exit-status.js';
import { reportFailure } from './failure.js';
import { onReaderGone, type Terminal } from './terminal.js';

/** Runs the body of a command, which answers whether its verdict is good; everything else is the same for all. */
export type RunCommand = (
  command: string,
  /** The URLs it works against. */
  targets: readonly string[],
  body: (signal: AbortSignal) => Promise<boolean>,
) => Promise<void>;

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Turns what a body does into an exit status, and a first Ctrl-C into an aborted signal: the body cleans up and rejects
 * with its reason. A second one ends the process as usual.
 */
export function commandRunner(terminal: Terminal): RunCommand {
  return async (command, targets, body) => {
    const stopping = new AbortController();
    const stop = (why: string) => stopping.abort(new InterruptedError(why));
    for (const signal of stopSignals) process.once(signal, stop);
    onReaderGone(() => stop('a closed output'));
    try {
      const holds = await body(stopping.signal);
      process.exitCode = holds ? exitStatus.success : exitStatus.failedVerdict;
    } catch (error) {
      process.exitCode = reportFailure(terminal, command, error, targets);
    } finally {
      for (const signal of stopSignals) process.off(signal, stop);
    }
  };
}
