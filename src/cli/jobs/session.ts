import type { JobStore, Jobs } from '../../schedule/index.js';
import { type Runtime, realRuntime } from '../../time/index.js';
import { visible } from '../display/visible.js';
import { exitStatus } from '../exit-status.js';
import { openJobStore } from '../job-stores.js';
import { commandWriter, type WriteCommand } from '../next-command.js';
import { call, refuseMemory, type Wiring } from '../session.js';
import { type Flags, resolveSettings } from '../settings/index.js';
import type { Terminal } from '../terminal.js';

/** What a command about jobs works with. */
export interface JobSession {
  readonly jobs: Jobs;
  /** What {@link jobs} works with. */
  readonly store: JobStore;
  readonly terminal: Terminal;
  readonly runtime: Runtime;
  /** Aborts when somebody asks the command to stop. */
  readonly signal: AbortSignal;
  readonly address: string;
  readonly namespace: string;
  readonly write: WriteCommand;
}

/** Runs `tenure jobs <verb>` on the store that the settings name, which is opened before and closed after. */
export function runOnJobs(
  { terminal, run }: Wiring,
  verb: string,
  flags: Flags,
  body: (session: JobSession) => Promise<boolean | number>,
): Promise<void> {
  const targets: string[] = [];
  return run(`jobs ${verb}`, targets, async (signal) => {
    const { url, namespace } = resolveSettings(['url', 'namespace'], flags);
    targets.push(url.value);
    refuseMemory(url.value, url.source);
    const { address, store } = await openJobStore(url.value, namespace.value, url.source);
    const { Jobs } = await import('../../schedule/index.js');
    const session: JobSession = {
      jobs: new Jobs(store, { timeoutMs: call.timeoutMs }),
      ...{ store, terminal },
      runtime: realRuntime,
      ...{ signal, address },
      namespace: namespace.value,
      write: commandWriter(flags),
    };
    try {
      return await body(session);
    } catch (error) {
      return sayUnknown(session, verb, error);
    } finally {
      await store.close();
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
