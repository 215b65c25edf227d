import { sayMs } from '../errors/say.js';
import type { Cause } from './cause.js';
import type { Ending } from './facts.js';
import { judgeLoss } from './judge-loss.js';
import { isGivenBack } from './kept.js';
import type { Verdict } from './verdict.js';

/** What the history and its holder tell of one term. Pure. */
export function judgeEnding(ending: Ending): Verdict {
  const { storeReason, loss, notes } = ending;
  const work = notes.find(({ what }) => what === 'work-failed' || what === 'work-returned');
  if (work !== undefined) {
    const how = work.what === 'work-failed' ? `threw ${work.detail ?? ''}`.trimEnd() : 'returned';
    return verdict('work-failed', `the work ${how} after ${lasted(ending)}`);
  }
  if (notes.some(({ what }) => what === 'work-overdue'))
    return verdict('work-overdue', 'the work was told to stop and went on, so its lease was ended');
  if (storeReason === 'revoked')
    return verdict('operator', `it was revoked after ${lasted(ending)}`);
  if (storeReason === 'max-hold')
    return verdict('max-hold', `it was held for ${lasted(ending)}, as long as is allowed`);
  if (loss !== undefined) return judgeLoss(loss, ending);
  if (ending.isEvidenceGone) return noLongerKept(ending);
  if (isGivenBack(storeReason))
    return verdict(
      'deploy',
      `${ending.holderId} gave it back (${storeReason}) after ${lasted(ending)}`,
    );
  return unwitnessed(ending);
}

/** Whoever led has told nothing. */
function unwitnessed({ storeReason, holderId, isHolderSilent }: Ending): Verdict {
  switch (storeReason) {
    case 'expired': {
      const ways = [
        'it stands still just now (SIGSTOP, a debugger, a suspended machine)',
        'was killed',
        'ran out of memory',
        'ended before it could tell (tenure run without --restart, status 76)',
        ...(isHolderSilent ? ['keeps no evidence (--no-evidence)'] : []),
        'or still cannot reach the store',
      ];
      return verdict(
        'process-died',
        `${holderId} renewed no more and has told nothing since: ${ways.join(', ')}`,
      );
    }
    case 'vanished':
      return verdict('record-removed', `the record of ${holderId} was removed`);
    case 'abandoned':
      return verdict('network', `${holderId} was granted the name and did not hear of it in time`);
    default:
      return verdict('unknown', `it ended as ${storeReason ?? 'nobody knows what'}`);
  }
}

/** Whether it told anything is not known either. */
function noLongerKept({ storeReason, holderId }: Ending): Verdict {
  const how = isGivenBack(storeReason)
    ? `${holderId} gave it back (${storeReason})`
    : storeReason === 'vanished'
      ? `the record of ${holderId} was removed`
      : `${holderId} renewed no more`;
  return verdict('no-longer-kept', `${how}; if it told why, that can no longer be read`);
}

function verdict(cause: Cause, because: string): Verdict {
  return { cause, because };
}

function lasted({ grantedAtMs, endedAtMs }: Ending): string {
  return sayMs(Math.max(0, endedAtMs - grantedAtMs));
}
