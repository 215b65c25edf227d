/** What an operator should do about it: nothing, look at it in time, or now. */
export type Level = 'info' | 'warn' | 'error';

interface LoggedEvent<Field extends string = string> {
  readonly level: Level;
  /** The message: the same text each time, so that it can be searched for. */
  readonly message: string;
  /** What the object has besides `event`. */
  readonly fields: readonly Field[];
}

const one = <Field extends string>(
  level: Level,
  message: string,
  fields: readonly Field[],
): LoggedEvent<Field> => ({ level, message, fields });

const ofMessage = ['shard', 'key', 'seq', 'id'] as const;

/**
 * Every event that is logged, by its name. Names and fields are stable: fields may be added, none changes its meaning.
 * `docs/metrics.md` has the same table, and a test compares them.
 */
export const eventCatalogue = {
  'lease.acquired': one('info', 'a lease was granted', ['name', 'term']),
  'lease.uncertain': one('warn', 'a lease is in doubt: nothing new begins', [
    'name',
    'term',
    'cause',
  ]),
  'lease.recovered': one('info', 'a lease is held again', ['name', 'term']),
  'lease.lost': one('warn', 'a lease ended against the will of its holder', [
    'name',
    'term',
    'reason',
  ]),
  'lease.released': one('info', 'a lease was given back', ['name', 'term', 'reason']),
  'lease.renewal-failed': one('warn', 'a renewal had no usable answer', [
    'leaseCount',
    'roundTripMs',
    'shortestRemainingMs',
    'error',
  ]),
  'candidate.duplicate': one('error', 'another live process is a candidate under this id', [
    'name',
    'id',
  ]),

  'election.elected': one('info', 'this process leads', ['name', 'term', 'campaignMs']),
  'election.lost': one('warn', 'this process does not lead any more', ['name', 'term', 'reason']),
  'election.resigned': one('info', 'this process gave the leadership back', [
    'name',
    'term',
    'reason',
  ]),
  'election.work-failed': one('error', 'the work of a leader threw', ['name', 'term', 'error']),
  'election.work-returned': one('warn', 'the work of a leader returned by itself', [
    'name',
    'term',
  ]),
  'election.work-overdue': one('error', 'the work of a leader has not stopped in time', [
    'name',
    'term',
  ]),
  'election.campaign-failed': one('warn', 'a campaign had no usable answer', [
    'name',
    'error',
    'retryInMs',
  ]),
  'election.duplicate': one('error', 'another live process is a candidate under this id', [
    'name',
    'id',
  ]),
  'election.term-healed': one('warn', 'the store had forgotten a term', ['name', 'above', 'term']),
  'election.evidence-failed': one('warn', 'what was seen of a loss cannot be kept', [
    'name',
    'error',
  ]),

  'fence.refused': one('warn', 'a fence refused an owner whose term is over', [
    'resource',
    'name',
    'term',
    'installedTerm',
  ]),
  'fence.repeated': one('info', 'an effect was recorded already, and has no second one', [
    'resource',
    'scope',
    'key',
    'seq',
  ]),

  'shard.claimed': one('info', 'shards were claimed', ['group', 'shards']),
  'shard.taken-over': one('warn', 'a shard was taken over from an owner whose lease had expired', [
    'group',
    'shard',
    'term',
    'previousOwner',
    'previousTerm',
    'gapMs',
  ]),
  'shard.handed-off': one('info', 'a shard was handed to its next owner', [
    'group',
    'shard',
    'term',
    'to',
  ]),
  'shard.released': one('info', 'a shard was given back without a successor', [
    'group',
    'shard',
    'term',
    'why',
  ]),
  'shard.lost': one('warn', 'a shard ended against the will of its owner', [
    'group',
    'shard',
    'term',
    'reason',
  ]),
  'shard.term-healed': one('warn', 'the store had forgotten the term of a shard', [
    'group',
    'shard',
    'above',
    'term',
  ]),
  'shard.failed': one('warn', 'owning shards failed at something, and it is tried again', [
    'group',
    'during',
    'error',
  ]),
  'shard.member-state': one('info', 'this worker tells its group what it does', ['group', 'state']),
  'shard.stalled': one('error', 'a shard makes no progress', [
    'group',
    ...ofMessage,
    'attempt',
    'stuckMs',
  ]),
  'shard.refused': one('warn', 'a newer owner of a shard is there', [
    'group',
    'shard',
    'term',
    'by',
    'installedTerm',
  ]),
  'shard.redelivered': one('info', 'messages of an owner whose lease had expired come again', [
    'group',
    'shard',
    'term',
    'messageCount',
  ]),
  'message.failed': one('warn', 'the handler of a message threw; it is tried again', [
    'group',
    ...ofMessage,
    'attempt',
    'retryInMs',
    'error',
  ]),
  'message.abandoned': one('error', 'a handler goes on although its lease has ended', [
    'group',
    ...ofMessage,
    'term',
    'runningMs',
  ]),
  'log.reset': one('error', 'the log of a shard had lost its state, and perhaps messages', [
    'group',
    'shard',
    'term',
  ]),
  'log.corrupt': one('error', 'something foreign is in the log of a shard', [
    'group',
    'shard',
    'term',
    'detail',
    'retryInMs',
  ]),
  'log.failed': one('warn', 'a request to the stream store had no usable answer', [
    'group',
    'operation',
    'error',
    'retryInMs',
  ]),

  'run.began': one('info', 'an attempt of a run begins', ['job', 'runId', 'attempt']),
  'run.ended': one('info', 'a run has ended', ['job', 'runId', 'state']),
  'run.given-up': one('error', 'a run has ended without success', ['job', 'runId', 'state']),
  'run.failed': one('warn', 'an attempt of a run failed, and another follows', [
    'job',
    'runId',
    'error',
  ]),
  'run.interrupted': one('info', 'an attempt has stopped, and its run goes on later', [
    'job',
    'runId',
  ]),
  'run.overdue': one('error', 'an attempt was told to stop and goes on', ['job', 'runId']),
  'schedule.ticks-skipped': one('warn', 'ticks do not run, by policy', ['job', 'count']),
  'schedule.job-elsewhere': one('warn', 'the leader of another election runs a job', [
    'job',
    'election',
  ]),
  'schedule.left-out': one('warn', 'whoever leads does not run jobs that are defined here', [
    'election',
    'leaderId',
    'jobs',
  ]),
  'schedule.leading': one('info', 'this process runs jobs', ['name', 'term', 'jobs']),
  'schedule.stopped-leading': one('info', 'this process does not run them any more', [
    'name',
    'term',
    'jobs',
  ]),
  'schedule.leadership-failed': one('error', 'this process gives up running jobs', [
    'name',
    'term',
    'error',
  ]),
  'schedule.store-failed': one('warn', 'a store of jobs had no usable answer', [
    'error',
    'retryInMs',
  ]),
  'schedule.start-failed': one('error', 'a store of jobs cannot be used as it is', [
    'election',
    'error',
    'retryInMs',
  ]),
  'schedule.stopped': one('error', 'this process does not take part any more', [
    'election',
    'error',
  ]),

  'effect.unknown': one('warn', 'nobody knows whether an effect took place', [
    'key',
    'attempt',
    'startedBy',
    'isOwn',
  ]),
  'effect.decided': one('info', 'what became of an effect of unknown outcome', [
    'key',
    'attempt',
    'outcome',
  ]),
  'effect.superseded': one('error', 'an effect may have taken place twice', ['key', 'attempt']),
  'effect.recorded-late': one('info', 'an effect ended late, and is known now', ['key', 'attempt']),
  'effect.unrecorded': one('error', 'an effect ended, and the store could not be told', [
    'key',
    'attempt',
    'error',
  ]),
} as const;

export type EventName = keyof typeof eventCatalogue;

export type EventFields<Name extends EventName> = Readonly<
  Record<(typeof eventCatalogue)[Name]['fields'][number], unknown>
>;
