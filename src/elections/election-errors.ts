import { TenureError } from '../errors/index.js';

/** An election takes one campaign at a time: another one is under way, has won, or its work has not stopped yet. */
export class CampaignUnderWayError extends TenureError {
  readonly electionName: string;

  constructor(electionName: string, what: string) {
    super(
      'TENURE_CAMPAIGN_UNDER_WAY',
      `the election "${electionName}" ${what}, and one process works for one candidate at a time. Wait for that to end, or call resign() first.`,
    );
    this.electionName = electionName;
  }
}

/** Who asked for it: the leader itself, with or without a successor, or its process, which is stopping. */
export type StopCause = 'resign' | 'handoff' | 'shutdown';

const causes: Record<StopCause, string> = {
  resign: 'it resigns',
  handoff: 'it hands over to a successor',
  shutdown: 'its process is stopping',
};

/** The reason of `stopping` while the lease is still held: finish what was begun, and return. */
export class StopRequestedError extends TenureError {
  readonly electionName: string;
  readonly term: number;
  readonly stopCause: StopCause;

  constructor(electionName: string, term: number, cause: StopCause) {
    super(
      'TENURE_STOP_REQUESTED',
      `the leader of "${electionName}" (term ${term}) is asked to stop: ${causes[cause]}. Finish what was begun, and return.`,
    );
    this.electionName = electionName;
    this.term = term;
    this.stopCause = cause;
  }
}

/** Work went on after its lease had ended and `lead` was told to stop. It may still be running. */
export class WorkOverdueError extends TenureError {
  readonly electionName: string;
  readonly term: number;

  constructor(electionName: string, term: number, waitedMs: number) {
    super(
      'TENURE_WORK_OVERDUE',
      `the work of "${electionName}" (term ${term}) goes on ${Math.round(waitedMs)} ms after it was told to stop. Its lease has ended and others may lead once the store lets it expire: end this process, and let the work heed "stopping" and lease.signal.`,
    );
    this.electionName = electionName;
    this.term = term;
  }
}
