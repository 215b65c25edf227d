import { awaitTextFile } from '../../drivers/text-file.js';
import { type JobEntry, readJob } from './job-entry.js';
import { parseYaml } from './yaml-node.js';

/** The jobs of a file, in its order. @param signal ends the wait for a pipe to which nobody writes. */
export async function readJobsFile(
  file: string,
  signal: AbortSignal,
): Promise<readonly JobEntry[]> {
  const text = await awaitTextFile('--file', file, 'name a file of jobs', signal);
  const root = parseYaml(await import('yaml'), text, file);
  const { jobs } = root.fields(['jobs']);
  const remedy = 'write jobs: and below it a name for each job';
  if (jobs === undefined) throw root.complain('has no jobs', remedy);
  const entries = [...jobs.entries(remedy)].map(([name, node]) => readJob(name, node));
  if (entries.length === 0) throw jobs.complain('is empty', remedy);
  return entries;
}
