import { readTextFile } from '../../drivers/text-file.js';
import { type JobEntry, readJob } from './job-entry.js';
import { parseYaml } from './yaml-node.js';

/** The jobs of a file, in its order. */
export async function readJobsFile(file: string): Promise<readonly JobEntry[]> {
  const text = readTextFile('--file', file, 'name a file of jobs');
  const root = parseYaml(await import('yaml'), text, file);
  const { jobs } = root.fields(['jobs']);
  const remedy = 'write jobs: and below it a name for each job';
  if (jobs === undefined) throw root.complain('has no jobs', remedy);
  const entries = [...jobs.entries(remedy)].map(([name, node]) => readJob(name, node));
  if (entries.length === 0) throw jobs.complain('is empty', remedy);
  return entries;
}
