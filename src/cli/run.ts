import { exitStatus, InterruptedError, OutputLostError } from './exit-status.js';
import { reportFailure } from './failure.js';
import { onOutputLost, type Terminal } from './terminal.js';

/** Runs the body of a command; everything else is the same for all. */
export type RunCommand = (
  command: string,
  /** The URLs it works against, for messages. Looked at when it has failed, so the body may add to them. */
  targets: readonly string[],
  /** Answers whether its verdict is good, or with an exit status of its own. */
  body: (signal: AbortSignal) => Promise<boolean | number>,
) => Promise<void>;

/** How long a command that was stopped has to end by itself. */
const lingerMs = 200;

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Turns what a body does into an exit status, and a first Ctrl-C into an aborted signal: the body cleans up and rejects
 * with its reason. A second one ends the process as usual.
 */
export function commandRunner(terminal: Terminal): RunCommand {
  const stopping = new AbortController();
  let isRunning = false;
  onOutputLost((error) => {
    if (error.code === 'EPIPE') return stopping.abort(new InterruptedError('SIGPIPE'));
    if (stopping.signal.reason instanceof OutputLostError) return;
    const lost = new OutputLostError(error);
    stopping.abort(lost);
    // Streams tell late: what was lost may be the last line of a verdict, or a help text.
    if (!isRunning) process.exitCode = reportFailure(terminal, '', lost, []);
  });
  return async (command, targets, body) => {
    const stop = (signal: NodeJS.Signals) => stopping.abort(new InterruptedError(signal));
    for (const signal of stopSignals) process.once(signal, stop);
    isRunning = true;
    try {
      const answer = await body(stopping.signal);
      if (stopping.signal.reason instanceof OutputLostError) throw stopping.signal.reason;
      process.exitCode = typeof answer === 'number' ? answer : statusOf(answer);
    } catch (error) {
      process.exitCode = reportFailure(terminal, command, error, targets);
      // A request or a connection that was given up would keep the process until its time is over.
      if (error instanceof InterruptedError) setTimeout(() => process.exit(), lingerMs).unref();
    } finally {
      isRunning = false;
      for (const signal of stopSignals) process.off(signal, stop);
    }
  };
}

function statusOf(holds: boolean): number {
  return holds ? exitStatus.success : exitStatus.failedVerdict;
}
