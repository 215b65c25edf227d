import { acquireInLockDelay } from './acquire-in-lock-delay.js';
import { bareCounter } from './bare-counter.js';
import { blindClaim } from './blind-claim.js';
import { blindRenew } from './blind-renew.js';
import { callsEverybody } from './calls-everybody.js';
import { callsInSuspension } from './calls-in-suspension.js';
import { callsTheFirst } from './calls-the-first.js';
import { creatingRenew } from './creating-renew.js';
import { delayAfterRelease } from './delay-after-release.js';
import { delayForgotten } from './delay-forgotten.js';
import { earlyNumber } from './early-number.js';
import { endlessEntry } from './endless-entry.js';
import { endlessHistory } from './endless-history.js';
import { endlessWait } from './endless-wait.js';
import { entryEndsLease } from './entry-ends-lease.js';
import { everyEndExpired } from './every-end-expired.js';
import { expiredWhenNoticed } from './expired-when-noticed.js';
import { foreignOverwritten } from './foreign-overwritten.js';
import { forgottenAttempt } from './forgotten-attempt.js';
import { forgottenTimer } from './forgotten-timer.js';
import { holderById } from './holder-by-id.js';
import { lastAct } from './last-act.js';
import { lateExecution } from './late-execution.js';
import { lateSuspension } from './late-suspension.js';
import { lineEachTime } from './line-each-time.js';
import { noExpiry } from './no-expiry.js';
import { openHandoff } from './open-handoff.js';
import { placeKept } from './place-kept.js';
import { placeLost } from './place-lost.js';
import { queueAsLock } from './queue-as-lock.js';
import { raisedTerm } from './raised-term.js';
import { releaseAnyHolder } from './release-any-holder.js';
import { releaseAnyTerm } from './release-any-term.js';
import { renewFromRequest } from './renew-from-request.js';
import { renewsRevoked } from './renews-revoked.js';
import { repeatedGrant } from './repeated-grant.js';
import { restartAsDuplicate } from './restart-as-duplicate.js';
import { resumeRevives } from './resume-revives.js';
import { revivalInGrace } from './revival-in-grace.js';
import { revokeAtOnce } from './revoke-at-once.js';
import { shownNonce } from './shown-nonce.js';
import { shuffledAnswers } from './shuffled-answers.js';
import { silentList } from './silent-list.js';
import { silentRevocation } from './silent-revocation.js';
import { silentSuspension } from './silent-suspension.js';
import { successorByPrefix } from './successor-by-prefix.js';
import { successorForgotten } from './successor-forgotten.js';
import { suspendsLaterOnly } from './suspends-later-only.js';
import { suspensionInMemory } from './suspension-in-memory.js';
import { suspensionNotForSuccessor } from './suspension-not-for-successor.js';
import { suspensionWithTheLease } from './suspension-with-the-lease.js';
import { suspensionWithTtl } from './suspension-with-ttl.js';
import { termEach } from './term-each.js';
import { termNotCompared } from './term-not-compared.js';
import { wallClock } from './wall-clock.js';
import { withdrawalEndsLease } from './withdrawal-ends-lease.js';
import { withdrawalUndoesGrant } from './withdrawal-undoes-grant.js';
import type { WrongCoordinator } from './wrong.js';

/** Mistakes that coordinators are known to make, one each. */
export const wrongCoordinators: readonly WrongCoordinator[] = [
  acquireInLockDelay,
  bareCounter,
  blindClaim,
  blindRenew,
  callsEverybody,
  callsInSuspension,
  callsTheFirst,
  creatingRenew,
  delayAfterRelease,
  delayForgotten,
  shownNonce,
  earlyNumber,
  endlessEntry,
  endlessHistory,
  endlessWait,
  entryEndsLease,
  everyEndExpired,
  expiredWhenNoticed,
  foreignOverwritten,
  forgottenAttempt,
  forgottenTimer,
  holderById,
  lastAct,
  lateExecution,
  lateSuspension,
  lineEachTime,
  noExpiry,
  openHandoff,
  placeKept,
  placeLost,
  queueAsLock,
  raisedTerm,
  releaseAnyHolder,
  releaseAnyTerm,
  renewFromRequest,
  renewsRevoked,
  repeatedGrant,
  restartAsDuplicate,
  resumeRevives,
  revivalInGrace,
  revokeAtOnce,
  shuffledAnswers,
  silentList,
  silentRevocation,
  silentSuspension,
  successorByPrefix,
  successorForgotten,
  suspendsLaterOnly,
  suspensionInMemory,
  suspensionNotForSuccessor,
  suspensionWithTheLease,
  suspensionWithTtl,
  termEach,
  termNotCompared,
  wallClock,
  withdrawalEndsLease,
  withdrawalUndoesGrant,
];
