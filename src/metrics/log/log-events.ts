import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Elections } from '../../elections/index.js';
import { requireMethods } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import {
  type FenceRefusal,
  isolated,
  type RepeatedEffect,
  type Unsubscribe,
} from '../../events/index.js';
import { Leases } from '../../leases/index.js';
import { Once } from '../../once/index.js';
import { Schedule } from '../../schedule/index.js';
import { ShardWorker } from '../../shards/index.js';
import { StreamWorker } from '../../streams/index.js';
import { all } from '../site.js';
import { EventLog, type EventLogger } from './event-log.js';
import { logEffects, logSchedule } from './jobs.js';
import { logElections, logLeases } from './leadership.js';
import { logShards, logStreamWorker } from './messages.js';

/** What tells events that can be logged. */
export type Loggable = Leases | Elections | ShardWorker | StreamWorker<never> | Schedule | Once;

/**
 * Writes what these tell to a logger, from now on, and what any fence of this process refuses. `docs/metrics.md` lists the
 * events: name, level and fields are stable, the message is the same text each time.
 *
 * ```ts
 * const stop = logEvents(pino(), leases, elections, worker);
 * ```
 *
 * Nothing is brought along: pass the leases of a worker only if a line for each of its shards is wanted. No payload, no nonce,
 * no URL with a password, and of errors that are not tenure's own only name and code, since their messages may hold
 * anything. Names of leases and keys of messages are logged. A logger that throws, or is async and rejects, harms nobody.
 *
 * @returns what ends it.
 * @throws {OptionError} for what is no logger, and for what tells no events.
 */
export function logEvents(logger: EventLogger, ...sources: readonly Loggable[]): Unsubscribe {
  const methods = ['info', 'warn', 'error'];
  requireMethods('logger', logger, methods, 'is no logger', 'pass one with info, warn and error');
  const log = new EventLog(logger);
  const ends: Unsubscribe[] = [];
  try {
    for (const source of sources) ends.push(attach(log, source));
  } catch (error) {
    all(...ends)();
    throw error;
  }
  return all(logFences(log), ...ends);
}

function attach(log: EventLog, source: Loggable): Unsubscribe {
  if (source instanceof Leases) return logLeases(log, source);
  if (source instanceof Elections) return logElections(log, source);
  if (source instanceof StreamWorker) return logStreamWorker(log, source as StreamWorker<never>);
  if (source instanceof ShardWorker) return logShards(log, source.group, source.events);
  if (source instanceof Schedule) return logSchedule(log, source);
  if (source instanceof Once) return logEffects(log, source);
  const remedy = 'pass leases, elections, a worker, a schedule or a Once';
  throw new OptionError('source', source, 'tells no events', remedy);
}

function logFences(log: EventLog): Unsubscribe {
  return all(
    onChannel<FenceRefusal>('tenure:fence.refused', ({ resource, name, term, installedTerm }) =>
      log.write('fence.refused', { resource, name, term, installedTerm }),
    ),
    onChannel<RepeatedEffect>('tenure:fence.repeated', ({ resource, scope, key, seq }) =>
      log.write('fence.repeated', { resource, scope, key, seq }),
    ),
  );
}

/** What a subscriber of a channel throws would end the process. */
function onChannel<Message>(name: string, listener: (message: Message) => void): Unsubscribe {
  const told = isolated(name, (message: unknown) => listener(message as Message));
  const subscriber = (message: unknown) => told(message);
  subscribe(name, subscriber);
  return () => unsubscribe(name, subscriber);
}
