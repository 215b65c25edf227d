/**
 * Every error tenure can throw, by its stable code.
 *
 * A code never changes its meaning between releases; a message may. `docs/errors.md` is checked against this table.
 */
export const errorCatalogue = {
  TENURE_BAD_OPTION: 'An option, argument or piece of input is refused before anything is started.',
  TENURE_UNREACHABLE: 'The store could not be reached; the request was not executed.',
  TENURE_OUTCOME_UNKNOWN:
    'The request was sent and no answer came in time; it may or may not have been executed.',
  TENURE_STORE_REFUSED: 'The store answered that it will not execute the request.',
  TENURE_STORE_MISCONFIGURED: 'The store answers, but cannot keep what tenure would promise on it.',
  TENURE_RECORD_CORRUPT: 'A record under one of our names is not ours or cannot be read.',
  TENURE_LEASE_NOT_HELD: 'Work was about to start or write without a lease that is held.',
  TENURE_LEASE_ENDED: 'The lease this work belonged to has ended; the reason says why.',
  TENURE_STALE_TERM: 'A fence refused a write whose term is no longer the newest.',
  TENURE_KEY_MOVING: 'The key is being moved to another shard and did not settle in time.',
  TENURE_SEQUENCE_GAP: 'A publisher numbered a message beyond the next number of its key.',
  TENURE_SEQUENCE_REUSED: 'A number of a key whose effect is recorded came with another message.',
  TENURE_MEMBER_ID_TAKEN: 'Another live process is registered in the group under this id.',
  TENURE_CAMPAIGN_UNDER_WAY:
    'This process campaigns or leads in this election already, or its last work has not stopped.',
  TENURE_STOP_REQUESTED: 'Work that leads is asked to stop while its lease is still held.',
  TENURE_WORK_OVERDUE: 'Work was told to stop and did not; its lease has ended.',
  TENURE_RUN_TIMEOUT: 'An attempt of a run took longer than its job allows.',
  TENURE_RUN_CANCELLED: 'Somebody cancelled the run this work belongs to.',
  TENURE_JOB_UNKNOWN: 'There is no job of this name in the store.',
  TENURE_JOB_IN_USE:
    'A job was not forgotten: a run of it is open, or somebody has claimed it meanwhile.',
  TENURE_EFFECT_UNDER_WAY: 'Another call has the effect of this key just now; nothing was called.',
  TENURE_EFFECT_UNKNOWN: 'The effect of a key was begun, and nobody knows whether it took place.',
  TENURE_EFFECT_SUPERSEDED:
    'An effect ended after its key was settled or begun anew; it may have taken place twice.',
  TENURE_EFFECT_UNRECORDED: 'An effect took place, and the store could not be told.',
  TENURE_EFFECT_TIMEOUT: 'An effect took longer than its call allows.',
  TENURE_RESULT_NOT_KEPT: 'An effect took place, and its result could not be kept.',
  TENURE_NOT_APPLIED: 'An effect says that it did not take place.',
  TENURE_CLOSED: 'The object was closed and takes no more requests.',
} as const;

export type ErrorCode = keyof typeof errorCatalogue;
