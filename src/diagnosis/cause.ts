/**
 * Why terms end. `planned` ones are ends that somebody wanted; `note` ones are dangers that end no term by themselves.
 */
export const causes = {
  'ttl-too-short': 'the ttl is too short for the round trips to the store',
  'loop-blocked': 'the event loop was blocked by work of the process',
  'process-paused': 'the process was stopped, or its machine was',
  'cpu-starved': 'the process waited for a processor',
  network: 'no answer came over the network, or connections broke',
  'store-overloaded': 'the store was slow, or had too much to do',
  'store-restarted': 'the store was down, or was restarted',
  'record-removed': 'the record of the lease was removed from the store',
  failover: 'the store failed over to another server',
  'store-denies': 'the store refuses what the process may not do',
  'clock-stepped': 'a wall clock was set',
  'terms-lost': 'the resource has seen higher terms than the store grants',
  'process-died':
    'the leader renewed no more and told nothing: its process may have ended, or stands still',
  'work-failed': 'the work ended by itself, or threw',
  'work-overdue': 'the work did not stop in time',
  'max-hold': 'the term reached its longest time',
  operator: 'an operator ended it',
  deploy: 'the name was given back on purpose, as by a deploy',
  'duplicate-ids': 'live processes share one id',
  'no-longer-kept': 'what the leaders told of it, if they did, can no longer be read',
  unknown: 'nothing is known of why',
} as const;

export type Cause = keyof typeof causes;

const planned: readonly Cause[] = ['deploy', 'operator', 'max-hold'];

/** Somebody wanted it. */
export function isPlanned(cause: Cause): boolean {
  return planned.includes(cause);
}
