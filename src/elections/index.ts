export type { ElectionCandidate } from './candidates.js';
export {
  type CampaignOptions,
  Election,
  type ElectionRevocation,
  type StopOptions,
} from './election.js';
export {
  CampaignUnderWayError,
  type StopCause,
  StopRequestedError,
  WorkOverdueError,
} from './election-errors.js';
export { Elections, type ElectionsOptions } from './elections.js';
export type { ElectionEvents } from './events.js';
export type {
  ErrorKind,
  Evidence,
  LossEvidence,
  MachineSeen,
  NoteEvidence,
  NoteKind,
  RefusalEvidence,
  RenewalsSeen,
  ThreadTime,
} from './evidence/index.js';
export { readEvidence } from './evidence/index.js';
export type { ElectionHistoryEntry, ElectionTerm } from './history.js';
export type { LeadContext, Work } from './led-term.js';
export type { Json } from './metadata.js';
export type {
  Leadership,
  LedLeadership,
  NobodyLeadership,
  SureLeadership,
  UnsureLeadership,
} from './observation.js';
export type { ElectionOptions } from './options.js';
