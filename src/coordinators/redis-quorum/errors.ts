import { errorKindOf, kindTold, tellingKind } from '../../errors/error-kind.js';
import {
  ClosedError,
  OptionError,
  OutcomeUnknownError,
  RecordCorruptError,
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
  tooLateCode,
  UnreachableError,
} from '../../errors/index.js';
import { type ErrorKind, ofKind } from '../../errors/kinds.js';
import { outcomeUnknown, unreachable } from '../../errors/unanswered.js';
import { answersOf, majorityOf, mayBeExecuted, type Votes } from './majority.js';

/** What to throw when too few nodes answered; `isHarmless` if what some may have executed changes nothing. */
export function noMajority(
  what: string,
  votes: Votes<unknown>,
  addresses: readonly string[],
  isHarmless: boolean,
): TenureError {
  const errors = votes.flatMap((vote) => (vote.kind === 'failed' ? [vote.error] : []));
  const needed = majorityOf(votes.length);
  const answeredCount = answersOf(votes).length;
  const isLate = errors.filter(isTooLate).length >= needed;
  const closed = errors.find((error) => error instanceof ClosedError);
  const isUnknown = !isHarmless && votes.some(mayBeExecuted);
  const reasons = describe(votes, addresses);
  const message = `${answeredCount} of ${votes.length} nodes answered ${what}, and ${needed} are needed. ${reasons}`;
  const corrupt = errors.filter((error) => error instanceof RecordCorruptError);
  if (corrupt.length > votes.length - needed) return corrupt[0] as RecordCorruptError;
  const kind = kindOfMost(errors);
  if (isUnknown) return outcomeUnknown(kind, message);
  if (closed !== undefined) return closed as ClosedError;
  const fatal = errors.find((error) => error instanceof OptionError);
  if (fatal !== undefined) return fatal as OptionError;
  const refused = errors.filter((error) => error instanceof StoreRefusedError && !isTooLate(error));
  if (refused.length > votes.length - needed) return refused[0] as StoreRefusedError;
  if (isLate) return new StoreRefusedError(tooLateCode, message);
  const misconfigured = errors.filter((error) => error instanceof StoreMisconfiguredError);
  if (misconfigured.length > votes.length - needed) {
    const isReplica = misconfigured.some((error) => errorKindOf(error) === 'replica');
    return ofKind(isReplica ? 'replica' : 'denied', new StoreMisconfiguredError(message));
  }
  return unreachable(kind, message);
}

/** What to throw in place of a failure that would say that nothing was executed, when something may have been before it. */
export function unknownBecauseOf(error: Error): OutcomeUnknownError {
  if (error instanceof OutcomeUnknownError) return error;
  return outcomeUnknown(
    undefined,
    `some nodes may have executed it, and then: ${error.message} It may or may not be in force.`,
    error,
  );
}

/** Of those nodes that could not be asked, or gave no answer: who is misconfigured says nothing about them. */
function kindOfMost(errors: readonly Error[]): ErrorKind | undefined {
  const silent = errors.filter((error) => !(error instanceof StoreMisconfiguredError));
  return tellingKind(silent.map((error) => kindTold(error)));
}

export function isTooLate(error: Error): boolean {
  return error instanceof StoreRefusedError && error.storeCode === tooLateCode;
}

/** Why there is no connection says where and why; that nothing was sent over it, the whole says. */
function reasonOf(error: Error): string {
  const { cause } = error;
  return error instanceof UnreachableError && cause instanceof UnreachableError
    ? cause.message
    : error.message;
}

function describe(votes: Votes<unknown>, addresses: readonly string[]): string {
  return votes
    .flatMap((vote, node) => {
      if (vote.kind === 'answered') return [];
      if (vote.kind === 'failed') return [reasonOf(vote.error)];
      const why = vote.kind === 'pending' ? 'has not answered' : 'is not a member (now)';
      return [`${addresses[node]} ${why}.`];
    })
    .join(' ');
}
