import { InterruptedError } from '../../src/cli/exit-status.js';
import { reportFailure } from '../../src/cli/failure.js';
import { createProgram } from '../../src/cli/program.js';
import type { RunCommand } from '../../src/cli/run.js';
import type { Outcome } from './command-line.js';
import { RecordingTerminal } from './session.js';

/** A command that runs within this process. */
export interface RunningInside {
  readonly ended: Promise<Outcome>;
  /** Resolves when the text has been printed; rejects if the command ends before. */
  printed(text: string): Promise<void>;
  /** Ctrl-C. */
  interrupt(): void;
}

/**
 * As `tenure` with these arguments does it, but for the process: where many commands are tried on many stores, to start
 * one each time would take longer than what they do.
 */
export function startInside(args: readonly string[]): RunningInside {
  const terminal = new RecordingTerminal();
  const stopping = new AbortController();
  let status: number | null = null;
  const run: RunCommand = async (command, targets, body) => {
    try {
      const answer = await body(stopping.signal);
      status = typeof answer === 'number' ? answer : Number(!answer);
    } catch (error) {
      status = reportFailure(terminal, command, error, targets);
    }
  };
  const ended = createProgram(terminal, run)
    .parseAsync(args, { from: 'user' })
    .then(() => ({ status, stdout: linesOf(terminal.printed), stderr: linesOf(terminal.notes) }));
  let isOver = false;
  ended.then(
    () => {
      isOver = true;
    },
    () => {
      isOver = true;
    },
  );
  return {
    ended,
    async printed(text) {
      const startedMs = performance.now();
      while (!terminal.answerText.includes(text)) {
        if (isOver || performance.now() - startedMs > 60_000)
          throw new Error(`has not printed "${text}": ${terminal.answerText}${terminal.noteText}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    interrupt: () => stopping.abort(new InterruptedError('SIGINT')),
  };
}

function linesOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
