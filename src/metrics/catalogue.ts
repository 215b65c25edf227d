import {
  Counter,
  type CounterDefinition,
  Gauge,
  type GaugeDefinition,
  Histogram,
  type HistogramDefinition,
  type Merging,
} from './instruments.js';

const counter = <Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
): CounterDefinition<Label> => ({ kind: 'counter', name, help, labels });

const gauge = <Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
  merged: Merging = 'sum',
): GaugeDefinition<Label> => ({ kind: 'gauge', name, help, labels, merged });

const histogram = <Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
  buckets: readonly number[],
): HistogramDefinition<Label> => ({ kind: 'histogram', name, help, labels, buckets });

/** A request to a store: from what loopback takes to what ends a lease. */
const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** What a fleet waits for: from a handoff to an outage. */
const waitSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 900, 3600];
/** What handlers do: from nothing but the processor to a slow service. */
const handlingSeconds = [
  0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/**
 * Every instrument there is. `docs/metrics.md` has the same table, the alert rules and the dashboard use these names and no
 * others, and tests compare them.
 */
export const catalogue = {
  stall: gauge(
    'tenure_event_loop_stall_seconds',
    'Longest time for which the event loop stood still, since the last collection and for at least ten seconds.',
    [],
    'max',
  ),

  leases: gauge('tenure_leases', 'Leases of this process that have not ended.', ['store', 'state']),
  acquired: counter('tenure_lease_acquired_total', 'Leases that were granted.', ['store']),
  leaseEnded: counter('tenure_lease_ended_total', 'Leases that ended, by reason.', [
    'store',
    'reason',
  ]),
  uncertain: counter('tenure_lease_uncertain_total', 'Times a lease became uncertain, by cause.', [
    'store',
    'cause',
  ]),
  renewal: histogram(
    'tenure_lease_renewal_duration_seconds',
    'Round trip of a renewal, or the time after which it was given up.',
    ['store', 'outcome'],
    requestSeconds,
  ),
  remaining: gauge(
    'tenure_lease_remaining_shortest_seconds',
    'What the lease nearest its deadline had left, since the last collection and for at least ten seconds.',
    ['store'],
    'min',
  ),
  remainingShare: gauge(
    'tenure_lease_remaining_shortest_ratio',
    'The same as a share of what a lease may be kept for without a renewal: 0.5 when all is well, 0 when it is lost.',
    ['store'],
    'min',
  ),
  duplicateIds: counter(
    'tenure_candidate_duplicates_total',
    'Times another live process was a candidate under the id of this one.',
    ['store'],
  ),
  storeErrors: counter(
    'tenure_store_errors_total',
    'Requests to a store without a usable answer, by what was asked and by kind of error.',
    ['operation', 'kind'],
  ),
  connectionsLost: counter(
    'tenure_store_connections_lost_total',
    'Times the connection that renewals go over broke or was abandoned.',
    ['store'],
  ),
  nodes: gauge(
    'tenure_store_node_up',
    'Whether this process is connected to a server of the store and, in a quorum, the server has a vote.',
    ['store', 'node'],
    'max',
  ),

  leader: gauge('tenure_election_leader', 'Whether this process leads.', ['election'], 'max'),
  term: gauge(
    'tenure_election_term',
    'The term in which this process leads; absent while it does not.',
    ['election'],
    'max',
  ),
  elected: counter('tenure_election_terms_total', 'Terms that this process began.', ['election']),
  ended: counter(
    'tenure_election_terms_ended_total',
    'Terms of this process that ended, by reason.',
    ['election', 'reason'],
  ),
  campaign: histogram(
    'tenure_election_campaign_duration_seconds',
    'From the begin of a candidacy until it was elected.',
    ['election'],
    waitSeconds,
  ),
  vacancy: histogram(
    'tenure_election_vacancy_seconds',
    'How long nobody led before a term of this process, by the clock of the store.',
    ['election'],
    waitSeconds,
  ),
  candidates: gauge(
    'tenure_election_candidates',
    'Live candidates, the same in every process that asks.',
    ['election', 'standing'],
  ),
  workFailures: counter(
    'tenure_election_work_failures_total',
    'Work of a leader that threw, returned by itself, or did not stop in time.',
    ['election', 'how'],
  ),
  healed: counter(
    'tenure_terms_healed_total',
    'Terms that a store had forgotten and that were raised above what the resource had seen.',
    ['what'],
  ),

  refusals: counter(
    'tenure_fence_refusals_total',
    'Tokens that a fence of this process refused: because of another term, or because the lease does not stand.',
    ['resource', 'because'],
  ),
  repeated: counter(
    'tenure_fence_duplicates_total',
    'Effects that a fence had recorded already: redeliveries that had no second effect.',
    ['resource'],
  ),

  shards: gauge(
    'tenure_shards',
    'Shards that the group divides among its members.',
    ['group'],
    'max',
  ),
  shardsOwned: gauge('tenure_shards_owned', 'Shards that this process owns.', ['group']),
  shardTerm: gauge(
    'tenure_shard_term',
    'The term in which this process owns a shard; absent while it does not.',
    ['group', 'shard'],
    'max',
  ),
  members: gauge(
    'tenure_shard_members',
    'Members of the group, as this process saw it last.',
    ['group'],
    'max',
  ),
  moves: counter(
    'tenure_shard_moves_total',
    'Shards that this process claimed, took over from an owner whose lease had expired, handed off or released.',
    ['group', 'how'],
  ),
  shardsLost: counter('tenure_shards_lost_total', 'Shards that this process lost, by reason.', [
    'group',
    'reason',
  ]),
  takeoverGap: histogram(
    'tenure_shard_takeover_gap_seconds',
    'From the expiry of a lease until the shard was taken over.',
    ['group'],
    waitSeconds,
  ),
  takeoverGaps: counter(
    'tenure_shard_takeover_gaps_seconds_total',
    'The same of each shard, added up: for so long it had no owner whose lease stood.',
    ['group', 'shard'],
  ),
  takeovers: counter(
    'tenure_shard_takeovers_total',
    'Shards that got another owner: forced, by this process after the lease of the former one had expired, or handed off by it.',
    ['group', 'shard', 'how'],
  ),
  redelivered: counter(
    'tenure_shard_redelivered_messages_total',
    'Messages that were read again after a forced takeover, since the former owner may have begun them.',
    ['group', 'shard'],
  ),
  stalls: counter(
    'tenure_shard_stalls_total',
    'Times a shard of this process had a message at its head and finished none for too long.',
    ['group'],
  ),
  corruptLogs: counter(
    'tenure_shard_logs_corrupt_total',
    'Times something foreign was found in the log of a shard, so that nothing was read.',
    ['group'],
  ),
  logResets: counter(
    'tenure_shard_log_resets_total',
    'Times the log of a shard had lost its state, and perhaps messages.',
    ['group'],
  ),
  backlog: gauge(
    'tenure_backlog_messages',
    'Unfinished messages, the same in every process that asks; shard="all" above the limit of series.',
    ['group', 'shard'],
    'max',
  ),
  oldest: gauge(
    'tenure_backlog_oldest_age_seconds',
    'Age of the oldest unfinished message, by the clock of the store; 0 without one.',
    ['group', 'shard'],
    'max',
  ),
  inFlight: gauge(
    'tenure_messages_in_flight',
    'Messages whose handler was begun and has not ended, in the shards that this process owns; shard="all" above the limit of series.',
    ['group', 'shard'],
  ),
  handled: counter('tenure_messages_handled_total', 'Messages that the store knows as finished.', [
    'group',
  ]),
  handling: histogram(
    'tenure_message_handling_seconds',
    'Duration of one attempt of the handler at a message, by outcome.',
    ['group', 'outcome'],
    handlingSeconds,
  ),
  abandoned: counter(
    'tenure_handlers_abandoned_total',
    'Handlers that went on after the lease of their shard had ended.',
    ['group'],
  ),
  published: counter('tenure_messages_published_total', 'Messages that were appended.', ['group']),
  publishedAgain: counter(
    'tenure_messages_published_duplicates_total',
    'Messages whose id was known already, and that were not appended again.',
    ['group'],
  ),

  runs: counter('tenure_schedule_runs_total', 'Runs of jobs that ended here, by outcome.', [
    'job',
    'outcome',
  ]),
  attemptsFailed: counter(
    'tenure_schedule_attempts_failed_total',
    'Attempts of runs that failed and are repeated.',
    ['job'],
  ),
  ticksSkipped: counter(
    'tenure_schedule_ticks_skipped_total',
    'Ticks that did not run, by policy; of one gap at most 1,000 are counted.',
    ['job'],
  ),
  jobsLed: gauge('tenure_schedule_jobs_led', 'Jobs that this process runs.', []),
  onceUnknown: counter('tenure_once_unknown_total', 'Effects whose outcome was not known.', []),
  onceDecided: counter('tenure_once_decided_total', 'What was decided about them, by outcome.', [
    'outcome',
  ]),
  onceSuperseded: counter(
    'tenure_once_superseded_total',
    'Effects that ended after their key was settled or repeated, and may have taken place twice.',
    [],
  ),
} as const;

type InstrumentOf<Of> =
  Of extends CounterDefinition<infer Label>
    ? Counter<Label>
    : Of extends GaugeDefinition<infer Label>
      ? Gauge<Label>
      : Of extends HistogramDefinition<infer Label>
        ? Histogram<Label>
        : never;

/** One of each. */
export type Instruments = {
  readonly [Key in keyof typeof catalogue]: InstrumentOf<(typeof catalogue)[Key]>;
};

export function createInstruments(): Instruments {
  const made = Object.entries(catalogue).map(([key, definition]) => [key, create(definition)]);
  return Object.fromEntries(made) as Instruments;
}

function create(
  definition: CounterDefinition | GaugeDefinition | HistogramDefinition,
): Counter | Gauge | Histogram {
  switch (definition.kind) {
    case 'counter':
      return new Counter(definition);
    case 'gauge':
      return new Gauge(definition);
    case 'histogram':
      return new Histogram(definition);
  }
}
