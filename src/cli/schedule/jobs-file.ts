import { awaitTextFile } from '../../drivers/text-file.js';
import { type JobEntry, readJob } from './job-entry.js';
import { Mistakes } from './mistakes.js';
import { parseYaml } from './yaml-node.js';

/** The jobs of a file, in its order. @param signal ends the wait for a pipe to which nobody writes. */
export async function readJobsFile(
  file: string,
  signal: AbortSignal,
): Promise<readonly JobEntry[]> {
  const text = await awaitTextFile('--file', file, 'name a file of jobs', signal);
  const root = parseYaml(await import('yaml'), text, file);
  const mistakes = new Mistakes();
  const { jobs } = root.fields(['jobs'], mistakes);
  const remedy = 'write jobs: and below it a name for each job';
  if (jobs === undefined) mistakes.add(root.complain('has no jobs', remedy));
  const named = jobs === undefined ? [] : (mistakes.of(() => jobs.entries(remedy)) ?? []);
  const entries = [...named].map(([name, node]) => readJob(name, node, mistakes));
  mistakes.throwIfAny();
  if (entries.length === 0) throw (jobs ?? root).complain('is empty', remedy);
  return entries.filter((entry) => entry !== undefined);
}
