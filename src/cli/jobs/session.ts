import type { JobStore, Jobs } from '../../schedule/index.js';
import { visible } from '../display/visible.js';
import { exitStatus } from '../exit-status.js';
import { closeUnlessStopped, heard } from '../heard.js';
import { openJobStore } from '../job-stores.js';
import { call, runAtPlace, type StoreSession, type Wiring } from '../session.js';
import type { Flags } from '../settings/index.js';

/** What a command about jobs works with. */
export interface JobSession extends StoreSession {
  readonly jobs: Jobs;
  /** What {@link jobs} works with. */
  readonly store: JobStore;
}

/** Runs `tenure jobs <verb>` on the store that the settings name, which is opened before and closed after. */
export function runOnJobs(
  wiring: Wiring,
  verb: string,
  flags: Flags,
  body: (session: JobSession) => Promise<boolean | number>,
): Promise<void> {
  return runAtPlace(wiring, `jobs ${verb}`, flags, async ({ url, source, namespace }, common) => {
    const { address, store: opened } = await openJobStore(url, namespace, source);
    const store = heard(opened, common.signal);
    const { Jobs } = await import('../../schedule/index.js');
    const jobs = new Jobs(store, { timeoutMs: call.timeoutMs });
    const session: JobSession = { ...common, jobs, store, address };
    try {
      return await body(session);
    } catch (error) {
      return sayUnknown(session, verb, error);
    } finally {
      await closeUnlessStopped(store, common.signal);
    }
  });
}

/** That there is no such job is an answer. @throws every other error. */
function sayUnknown({ terminal, write }: JobSession, verb: string, error: unknown): number {
  if (!(error instanceof Error && 'code' in error && error.code === 'TENURE_JOB_UNKNOWN'))
    throw error;
  terminal.note(`tenure jobs ${verb}: ${visible(error.message)}`);
  terminal.note(`  next: ${write(['jobs', 'list'])}`);
  return exitStatus.failedVerdict;
}
