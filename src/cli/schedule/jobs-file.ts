import { readFileSync } from 'node:fs';
import { OptionError } from '../../errors/index.js';
import { type JobEntry, readJob } from './job-entry.js';
import { parseYaml } from './yaml-node.js';

/** The jobs of a file, in its order. */
export async function readJobsFile(file: string): Promise<readonly JobEntry[]> {
  const text = readText(file);
  const root = parseYaml(await import('yaml'), text, file);
  const { jobs } = root.fields(['jobs']);
  const remedy = 'write jobs: and below it a name for each job';
  if (jobs === undefined) throw root.complain('has no jobs', remedy);
  const entries = [...jobs.entries(remedy)].map(([name, node]) => readJob(name, node));
  if (entries.length === 0) throw jobs.complain('is empty', remedy);
  return entries;
}

/** More than anybody writes by hand; a wrong file is told by its size. */
const longestBytes = 1024 * 1024;

/** @throws {OptionError} */
function readText(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new OptionError('--file', file, `cannot be read: ${code}`, 'name a file of jobs');
  }
  if (bytes.length > longestBytes) {
    const problem = `has ${bytes.length} bytes, and ${longestBytes} are read`;
    throw new OptionError('--file', file, problem, 'name a file of jobs');
  }
  return bytes.toString('utf8');
}
