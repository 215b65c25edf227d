import type { Environment } from '../supervise/environment.js';
import { ProgramError } from '../supervise/find-program.js';
import { resolveCommand } from '../supervise/plan.js';
import type { JobEntry } from './job-entry.js';

/** By job, why its command cannot be run on this machine, with file, line and key; nothing of a job whose command can. */
export function missingPrograms(
  entries: readonly JobEntry[],
  environment: Environment,
): Map<string, ProgramError> {
  const missing = new Map<string, ProgramError>();
  for (const { name, command, commandAt, env } of entries)
    try {
      resolveCommand(command, { ...environment, ...env });
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      error.message = `${commandAt}: ${error.message}`;
      missing.set(name, error);
    }
  return missing;
}
