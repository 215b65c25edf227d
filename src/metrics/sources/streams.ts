import { errorKindOf } from '../../errors/error-kind.js';
import type { EventSource, Unsubscribe } from '../../events/index.js';
import type { ShardWorker, ShardWorkerEvents } from '../../shards/index.js';
import type { Backlog, StreamWorker, Topic } from '../../streams/index.js';
import { SharedAnswer } from '../answer.js';
import { all, type Site } from '../site.js';

/** What stands for all shards where there are too many to have a series each. */
export const allShards = 'all';

/** A worker with its topic, and the leases it owns its shards by. */
export function observeStreamWorker(
  site: Site,
  worker: StreamWorker<never>,
  name: string | undefined,
): Unsubscribe {
  const { topic, leases, events } = worker;
  const group = site.names.of('group', name ?? worker.group);
  const owned = () => worker.shards;
  return all(
    site.observe(leases, undefined),
    site.observe(topic, name ?? worker.group),
    observeOwnership(site, { group, events: worker.shardEvents, owned, count: topic.shardCount }),
    observeRedeliveries(site, worker, group),
    observeHandling(site, worker, group),
    observeTrouble(site, events, group),
  );
}

export function observeShardWorker(
  site: Site,
  worker: ShardWorker,
  name: string | undefined,
): Unsubscribe {
  const group = site.names.of('group', name ?? worker.group);
  const { events, shardCount: count } = worker;
  return observeOwnership(site, { group, events, owned: () => worker.owned, count });
}

/** The shards of a group as labels: each its own, or one for all where there are too many. */
function shardLabels(site: Site, count: number) {
  const isShared = count > site.shardSeriesLimit;
  return {
    isShared,
    of: (shard: number) => (isShared ? allShards : String(shard)),
    all: isShared ? [allShards] : Array.from({ length: count }, (_, shard) => String(shard)),
  };
}

interface OwnershipSource {
  readonly group: string;
  readonly events: EventSource<ShardWorkerEvents>;
  readonly owned: () => readonly { readonly shard: number; readonly term: number }[];
  /** Of the whole group. */
  readonly count: number;
}

function observeOwnership(
  site: Site,
  { group, events, owned, count }: OwnershipSource,
): Unsubscribe {
  const { instruments } = site;
  const moved = (how: string, by = 1) => instruments.moves.add({ group, how }, by);
  for (const how of ['claimed', 'taken-over', 'handed-off', 'released']) moved(how, 0);
  const labels = shardLabels(site, count);
  const tookOver = (shard: number, how: 'forced' | 'handed-off') =>
    instruments.takeovers.add({ group, shard: labels.of(shard), how });
  for (const shard of labels.all) {
    instruments.takeoverGaps.expect({ group, shard });
    for (const how of ['forced', 'handed-off']) instruments.takeovers.expect({ group, shard, how });
  }
  let memberCount: number | undefined;
  return all(
    events.on('claimed', ({ shards }) => moved('claimed', shards.length)),
    events.on('takenOver', ({ shard, gapMs }) => {
      moved('taken-over');
      tookOver(shard, 'forced');
      instruments.takeoverGap.record({ group }, gapMs / 1000);
      instruments.takeoverGaps.add({ group, shard: labels.of(shard) }, gapMs / 1000);
    }),
    events.on('handedOff', ({ shard }) => {
      moved('handed-off');
      tookOver(shard, 'handed-off');
    }),
    events.on('released', () => moved('released')),
    events.on('lost', ({ reason }) => instruments.shardsLost.add({ group, reason })),
    events.on('termHealed', () => instruments.healed.add({ what: 'shard' })),
    events.on('planned', ({ members }) => {
      memberCount = members.length;
    }),
    events.on('error', ({ error, during }) =>
      instruments.storeErrors.add({ operation: during, kind: errorKindOf(error) }),
    ),
    site.onCollect({
      tell: () => {
        const shards = owned();
        instruments.shards.tell({ group }, count);
        instruments.shardsOwned.tell({ group }, shards.length);
        if (memberCount !== undefined) instruments.members.tell({ group }, memberCount);
        if (count > site.shardSeriesLimit) return;
        for (const { shard, term } of shards)
          instruments.shardTerm.tell({ group, shard: String(shard) }, term);
      },
    }),
  );
}

function observeRedeliveries(
  site: Site,
  { events, topic }: StreamWorker<never>,
  group: string,
): Unsubscribe {
  const { redelivered } = site.instruments;
  const labels = shardLabels(site, topic.shardCount);
  for (const shard of labels.all) redelivered.expect({ group, shard });
  return events.on('redelivered', ({ shard, messageCount }) =>
    redelivered.add({ group, shard: labels.of(shard) }, messageCount),
  );
}

function observeHandling(site: Site, worker: StreamWorker<never>, group: string): Unsubscribe {
  const { handling, handled, inFlight } = site.instruments;
  // Once per message: the series are looked up here, and not each time.
  const recorders = {
    handled: handling.of({ group, outcome: 'handled' }),
    failed: handling.of({ group, outcome: 'failed' }),
  };
  handled.expect({ group });
  const labels = shardLabels(site, worker.topic.shardCount);
  return all(
    worker.events.on('handlersEnded', ({ outcome, durationsMs }) => {
      const recorder = recorders[outcome];
      for (const durationMs of durationsMs) recorder.record(durationMs / 1000);
    }),
    worker.events.on('handled', ({ messageCount }) => handled.add({ group }, messageCount)),
    site.onCollect({
      tell: () => {
        const counts = new Map<string, number>(labels.isShared ? [[allShards, 0]] : []);
        for (const { shard, current } of worker.shards) {
          const label = labels.of(shard);
          counts.set(label, (counts.get(label) ?? 0) + (current === undefined ? 0 : 1));
        }
        for (const [shard, count] of counts) inFlight.tell({ group, shard }, count);
      },
    }),
  );
}

function observeTrouble(site: Site, events: StreamWorker['events'], group: string): Unsubscribe {
  const { stalls, corruptLogs, logResets, abandoned, storeErrors } = site.instruments;
  for (const counter of [stalls, corruptLogs, logResets, abandoned]) counter.expect({ group });
  return all(
    events.on('shardStalled', () => stalls.add({ group })),
    events.on('logCorrupt', () => corruptLogs.add({ group })),
    events.on('logReset', () => logResets.add({ group })),
    events.on('handlerAbandoned', () => abandoned.add({ group })),
    events.on('storeFailed', ({ operation, error }) =>
      storeErrors.add({ operation, kind: errorKindOf(error) }),
    ),
  );
}

/** @param name of the group that handles it. */
export function observeTopic(site: Site, topic: Topic, name: string): Unsubscribe {
  const { instruments } = site;
  const group = site.names.of('group', name);
  const backlog = new SharedAnswer<Backlog>(site, topic.runtime, () => topic.backlog());
  instruments.published.expect({ group });
  instruments.publishedAgain.expect({ group });
  return all(
    topic.events.on('published', ({ appendedCount, duplicateCount }) => {
      instruments.published.add({ group }, appendedCount);
      instruments.publishedAgain.add({ group }, duplicateCount);
    }),
    site.onCollect({
      prepare: () => backlog.refresh(),
      tell: () => {
        if (backlog.value === undefined) return;
        const { shards } = backlog.value;
        const tell = (shard: string, count: number, oldestAgeMs: number | undefined) => {
          instruments.backlog.tell({ group, shard }, count);
          instruments.oldest.tell({ group, shard }, (oldestAgeMs ?? 0) / 1000);
        };
        if (shards.length > site.shardSeriesLimit)
          tell(allShards, backlog.value.count, backlog.value.oldestAgeMs);
        else
          for (const { shard, count, oldestAgeMs } of shards)
            tell(String(shard), count, oldestAgeMs);
      },
    }),
  );
}
