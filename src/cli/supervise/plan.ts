import { OptionError } from '../../errors/index.js';
import type { Environment } from './environment.js';
import { findProgram, shellCharacters } from './find-program.js';

/** What is to be run, and how. All durations in milliseconds. */
export interface RunPlan {
  readonly name: string;
  readonly command: CommandLine;
  /** How long to wait until elected, each time; 0 tries once. */
  readonly waitMs: number;
  /** Lock-delay after a loss. */
  readonly graceMs: number;
  readonly restartsOnLoss: boolean;
  readonly onLost: CommandLine | undefined;
}

/** A program with its arguments, or a text for the shell. */
export interface CommandLine {
  readonly words: readonly string[];
  readonly isForShell: boolean;
}

/** What the system is to run. @throws {ProgramError} */
export function resolveCommand(
  { words: [first = '', ...rest], isForShell }: CommandLine,
  { PATH }: Environment,
): readonly string[] {
  return isForShell ? ['/bin/sh', '-c', first, 'sh', ...rest] : [findProgram(first, PATH), ...rest];
}

/**
 * A command that was written as one text, as `--on-lost` has it, or a job in a file. Without a shell it is divided at its spaces, and what
 * only a shell would understand is refused: it would not do what it looks like.
 *
 * @param forShell how to ask for a shell there.
 * @throws {OptionError} naming `source`.
 */
export function parseCommandLine(
  text: string,
  source: string,
  isForShell: boolean,
  forShell = 'add --shell',
): CommandLine {
  const words = text.split(/\s+/).filter((word) => word !== '');
  if (words.length === 0)
    throw new OptionError(source, text, 'is no command', 'name a program and its arguments');
  if (isForShell) return { words: [text], isForShell };
  if (!shellCharacters.test(text)) return { words, isForShell };
  throw new OptionError(
    source,
    text,
    'is for a shell, and none is used',
    `${forShell}, or name a script that does it`,
  );
}
