import { errorKinds } from '../errors/kinds.js';
import type { Doubt, EndReason, LeaseState } from '../leases/index.js';
import type { OnceEvents } from '../once/index.js';
import type { RunState } from '../schedule/index.js';
import type { FailedStep } from '../shards/events.js';
import type { catalogue } from './catalogue.js';

/** Every value of a type, in the order of the page: the compiler sees to it that none is missing. */
const all = <Value extends string>(values: Readonly<Record<Value, true>>) => Object.keys(values);

const endReasons = all<EndReason>({
  ...{ expired: true, unreachable: true, superseded: true, vanished: true, revoked: true },
  ...{ stalled: true, 'max-hold': true, 'handed-off': true, released: true, shutdown: true },
});

type Key = keyof typeof catalogue;

/** What labels can say that are no names: their values are few, and known beforehand. `docs/metrics.md` lists them. */
export const labelValues: readonly {
  readonly label: string;
  readonly of: readonly Key[];
  readonly values: readonly string[];
}[] = [
  { label: 'kind', of: ['storeErrors'], values: errorKinds },
  {
    label: 'operation',
    of: ['storeErrors'],
    values: [
      ...['renew', 'campaign', 'collect', 'schedule', 'install', 'step'],
      ...all<FailedStep>({
        ...{ register: true, plan: true, claim: true, begin: true },
        ...{ drain: true, drop: true, handoff: true },
      }),
    ],
  },
  { label: 'reason', of: ['leaseEnded', 'ended', 'shardsLost'], values: endReasons },
  {
    label: 'cause',
    of: ['uncertain'],
    values: all<Doubt['cause']>({
      ...{ 'renewal-failed': true, 'connection-lost': true, 'clock-stepped': true },
    }),
  },
  {
    label: 'state',
    of: ['leases'],
    values: all<Extract<LeaseState, 'held' | 'uncertain'>>({ held: true, uncertain: true }),
  },
  { label: 'standing', of: ['candidates'], values: ['waiting', 'present', 'observing'] },
  { label: 'how', of: ['workFailures'], values: ['threw', 'returned', 'overdue'] },
  { label: 'how', of: ['moves'], values: ['claimed', 'taken-over', 'handed-off', 'released'] },
  { label: 'how', of: ['takeovers'], values: ['forced', 'handed-off'] },
  { label: 'what', of: ['healed'], values: ['election', 'shard'] },
  { label: 'because', of: ['refusals'], values: ['term', 'lease'] },
  { label: 'outcome', of: ['renewal'], values: ['answered', 'failed'] },
  { label: 'outcome', of: ['handling'], values: ['handled', 'failed'] },
  {
    label: 'outcome',
    of: ['runs'],
    values: all<Exclude<RunState, 'running' | 'waiting'>>({
      ...{ succeeded: true, failed: true, 'timed-out': true, cancelled: true },
      ...{ abandoned: true, skipped: true, withdrawn: true },
    }),
  },
  {
    label: 'outcome',
    of: ['onceDecided'],
    values: all<OnceEvents['decided']['outcome']>({ done: true, repeated: true }),
  },
];
