export * from './acts.js';
export {
  type Call,
  type Candidate,
  calledCount,
  type EnrollRequest,
  type EnrollResult,
  type Standing,
  standings,
  type WithdrawRequest,
} from './candidates.js';
export * from './contract.js';
export {
  type ActEntry,
  type HistoryEntry,
  historyCount,
  historyLifeMs,
  type TermEntry,
} from './history.js';
export { Holder, validateHolderId } from './holder.js';
export { encodeName, groupOf, longestNameBytes, validateName } from './names.js';
export * from './record.js';
export { checkTimeout, validateMetadata } from './requests.js';
export { highestTerm, isCredibleTerm, isTerm, nextTerm, validateTerm } from './term.js';
