import { bareCounter } from './bare-counter.js';
import { blindClaim } from './blind-claim.js';
import { blindRenew } from './blind-renew.js';
import { creatingRenew } from './creating-renew.js';
import { earlyNumber } from './early-number.js';
import { endlessWait } from './endless-wait.js';
import { foreignOverwritten } from './foreign-overwritten.js';
import { forgottenAttempt } from './forgotten-attempt.js';
import { forgottenTimer } from './forgotten-timer.js';
import { holderById } from './holder-by-id.js';
import { lateExecution } from './late-execution.js';
import { noExpiry } from './no-expiry.js';
import { openHandoff } from './open-handoff.js';
import { raisedTerm } from './raised-term.js';
import { releaseAnyHolder } from './release-any-holder.js';
import { releaseAnyTerm } from './release-any-term.js';
import { renewFromRequest } from './renew-from-request.js';
import { repeatedGrant } from './repeated-grant.js';
import { shuffledAnswers } from './shuffled-answers.js';
import { successorByPrefix } from './successor-by-prefix.js';
import { termEach } from './term-each.js';
import { wallClock } from './wall-clock.js';
import type { WrongCoordinator } from './wrong.js';

/** Mistakes that coordinators are known to make, one each. */
export const wrongCoordinators: readonly WrongCoordinator[] = [
  bareCounter,
  blindClaim,
  blindRenew,
  creatingRenew,
  earlyNumber,
  endlessWait,
  foreignOverwritten,
  forgottenAttempt,
  forgottenTimer,
  holderById,
  lateExecution,
  noExpiry,
  openHandoff,
  raisedTerm,
  releaseAnyHolder,
  releaseAnyTerm,
  renewFromRequest,
  repeatedGrant,
  shuffledAnswers,
  successorByPrefix,
  termEach,
  wallClock,
];
