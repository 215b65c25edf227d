import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { quoted } from '../next-command.js';

/** What the shell would do something with. */
export const shellCharacters = /["'`\\$&|;<>(){}[\]*?~#!\n]/;

/** As a shell would say it: there is no such program, or it may not be run. */
export class ProgramError extends Error {
  readonly status: 126 | 127;
  /** A command that tells more. */
  readonly next: string;

  constructor(program: string, status: 126 | 127, problem: string) {
    super(`cannot run ${JSON.stringify(program)}: ${problem}`);
    this.name = 'ProgramError';
    this.status = status;
    this.next = `${status === 126 ? 'ls -l' : 'command -v'} ${quoted(program)}`;
  }
}

/** Where the program is that the system would run under this name. @throws {ProgramError} */
export function findProgram(program: string, path: string | undefined): string {
  if (program.includes('/')) {
    const judgement = judge(program);
    if (judgement === 'fit') return program;
    throw judgement === 'absent'
      ? absent(program, 'there is no such file; correct the path')
      : new ProgramError(program, 126, 'it is no program that you may run; try chmod +x');
  }
  const found = (path ?? '').split(delimiter).map((folder) => join(folder || '.', program));
  const fit = found.find((file) => judge(file) === 'fit');
  // An empty folder in the path means the working folder, and join() has taken the "./" away.
  if (fit !== undefined) return fit.includes('/') ? fit : `./${fit}`;
  if (program !== '' && found.some((file) => judge(file) === 'unfit'))
    throw new ProgramError(program, 126, 'what the PATH has under this name is no program');
  throw absent(program, 'it is in no folder of the PATH; install it, or write its path');
}

function absent(program: string, problem: string): ProgramError {
  const isOneWord = !/\s/.test(program) && !shellCharacters.test(program);
  return new ProgramError(program, 127, isOneWord ? problem : `${notDivided}; ${divide}`);
}

const notDivided =
  'there is no program of this name, which holds spaces or what a shell would read';
const divide =
  'write each word apart, or have a shell run the text: --shell, or shell: true in a file of jobs';

function judge(file: string): 'fit' | 'unfit' | 'absent' {
  try {
    if (!statSync(file).isFile()) return 'unfit';
    accessSync(file, constants.X_OK);
    return 'fit';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'unfit';
  }
}
