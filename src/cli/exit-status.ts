import { constants } from 'node:os';
import {
  OptionError,
  OutcomeUnknownError,
  RecordCorruptError,
  StoreMisconfiguredError,
  StoreRefusedError,
  TenureError,
  UnreachableError,
} from '../errors/index.js';

/** What a script can tell from the exit status. From 64 on they are those of the BSD `sysexits.h`. */
export const exitStatus = {
  success: 0,
  /** It ran, and the answer is no: a check that does not hold, a name that nobody holds. */
  failedVerdict: 1,
  /** Unknown command or option, or a value that is refused. */
  usage: 64,
  /** The store cannot be reached, or does not answer in time. */
  unavailable: 69,
  /** A bug of ours. */
  internal: 70,
  /** The answer could not be written: a full disk, say. */
  outputLost: 74,
  /** What was waited for did not come about in time: a name that stayed held, an effect that was not seen, a test on a machine that is too slow. */
  notInTime: 75,
  /** The name was held, and was lost before the work had ended, or work could not be stopped. */
  lost: 76,
  /** Somebody said no: the person who was asked, or a name that may not be held. */
  refused: 77,
  /** The store answers, but cannot keep what would be promised on it, or holds what is not ours. */
  misconfigured: 78,
} as const;

export function exitStatusOf(error: unknown): number {
  if (error instanceof InterruptedError) return error.status;
  if (error instanceof OutputLostError) return exitStatus.outputLost;
  if (installCommand(error) !== undefined) return exitStatus.misconfigured;
  if (error instanceof OptionError || error instanceof UsageError) return exitStatus.usage;
  if (error instanceof TenureError && error.code === 'TENURE_WORK_OVERDUE') return exitStatus.lost;
  if (error instanceof StoreMisconfiguredError || error instanceof RecordCorruptError)
    return exitStatus.misconfigured;
  if (
    error instanceof UnreachableError ||
    error instanceof OutcomeUnknownError ||
    error instanceof StoreRefusedError
  ) {
    return exitStatus.unavailable;
  }
  return exitStatus.internal;
}

/** What to run if a package is missing, which every error about one says in its remedy. */
export function installCommand(error: unknown): string | undefined {
  if (!(error instanceof OptionError)) return undefined;
  return /^run:? `?(npm install [\w@/-]+)/.exec(error.remedy)?.[1];
}

/** What is left behind by a command that was stopped. */
export interface Aftermath {
  readonly words: string;
  /** A command that tells more. */
  readonly next?: string;
}

/** A person or a supervisor asked us to stop, or whoever read the output has gone. */
export class InterruptedError extends Error {
  readonly signal: NodeJS.Signals;
  /** 128 and the number of the signal: 130 for Ctrl-C, 143 for SIGTERM. */
  readonly status: number;
  readonly aftermath: Aftermath;

  constructor(signal: NodeJS.Signals, aftermath: Aftermath = { words: 'cleaned up' }) {
    super(`stopped by ${signal === 'SIGPIPE' ? 'a closed output' : signal}`);
    this.name = 'InterruptedError';
    this.signal = signal;
    this.aftermath = aftermath;
    this.status = 128 + constants.signals[signal];
  }
}

/** The command was not written as this situation needs it. The message says how. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The command does what it does only with this option added, and nobody is there to say so. */
export class OptionNeededError extends UsageError {
  readonly option: string;

  constructor(message: string, option: string) {
    super(message);
    this.name = 'OptionNeededError';
    this.option = option;
  }
}

/** What was asked for cannot be written, so nobody will know whether it held. */
export class OutputLostError extends Error {
  constructor(cause: Error) {
    super(`the output could not be written: ${cause.message}`);
    this.name = 'OutputLostError';
  }
}
