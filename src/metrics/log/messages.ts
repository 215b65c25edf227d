import type { EventSource, Unsubscribe } from '../../events/index.js';
import type { ShardWorkerEvents } from '../../shards/index.js';
import type { StreamWorker } from '../../streams/index.js';
import { all } from '../site.js';
import { type EventLog, loggedError } from './event-log.js';

export function logShards(
  log: EventLog,
  group: string,
  events: EventSource<ShardWorkerEvents>,
): Unsubscribe {
  return all(
    events.on('claimed', ({ shards }) =>
      log.write('shard.claimed', { group, shards: shards.map(({ shard }) => shard) }),
    ),
    events.on('takenOver', ({ shard, term, previousOwner, previousTerm, gapMs }) =>
      log.write('shard.taken-over', { group, shard, term, previousOwner, previousTerm, gapMs }),
    ),
    events.on('handedOff', ({ shard, term, to }) =>
      log.write('shard.handed-off', { group, shard, term, to }),
    ),
    events.on('released', ({ shard, term, why }) =>
      log.write('shard.released', { group, shard, term, why }),
    ),
    events.on('lost', ({ shard, term, reason }) =>
      log.write('shard.lost', { group, shard, term, reason }),
    ),
    events.on('termHealed', ({ shard, above, term }) =>
      log.write('shard.term-healed', { group, shard, above, term }),
    ),
    events.on('memberState', ({ state }) => log.write('shard.member-state', { group, state })),
    events.on('error', ({ error, during }) =>
      log.write('shard.failed', { group, during, error: loggedError(error) }),
    ),
  );
}

export function logStreamWorker(log: EventLog, worker: StreamWorker<never>): Unsubscribe {
  const { events, group } = worker;
  return all(
    logShards(log, group, worker.shardEvents),
    events.on('handlerFailed', ({ shard, key, seq, id, attempt, retryInMs, error }) => {
      const message = { group, shard, key, seq, id, attempt };
      log.write('message.failed', { ...message, retryInMs, error: loggedError(error) });
    }),
    events.on('handlerAbandoned', ({ shard, key, seq, id, term, runningMs }) =>
      log.write('message.abandoned', { group, shard, key, seq, id, term, runningMs }),
    ),
    events.on('shardStalled', ({ shard, key, seq, id, attempt, stuckMs }) =>
      log.write('shard.stalled', { group, shard, key, seq, id, attempt, stuckMs }),
    ),
    events.on('shardRefused', ({ shard, lease: { term }, by, installedTerm }) =>
      log.write('shard.refused', { group, shard, term, by, installedTerm }),
    ),
    events.on('redelivered', ({ shard, term, messageCount }) =>
      log.write('shard.redelivered', { group, shard, term, messageCount }),
    ),
    events.on('logReset', ({ shard, lease: { term } }) =>
      log.write('log.reset', { group, shard, term }),
    ),
    events.on('logCorrupt', ({ shard, lease: { term }, detail, retryInMs }) =>
      log.write('log.corrupt', { group, shard, term, detail, retryInMs }),
    ),
    events.on('storeFailed', ({ operation, error, retryInMs }) =>
      log.write('log.failed', { group, operation, error: loggedError(error), retryInMs }),
    ),
  );
}
