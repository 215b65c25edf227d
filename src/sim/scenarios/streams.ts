import { StaleTermError } from '../../errors/index.js';
import { MemberIdTakenError } from '../../shards/index.js';
import { memoryStreams } from '../../streams/memory/index.js';
import { Topic } from '../../streams/topic.js';
import { type DeliveredMessage, StreamWorker } from '../../streams/worker/index.js';
import { sleep } from '../../time/index.js';
import { MessagesChecker } from '../checkers/messages.js';
import { ShardsChecker } from '../checkers/shards.js';
import type { SimHost } from '../host.js';
import { lastingRuntime } from '../world/lasting-runtime.js';
import { ObservedStreams } from './observed-streams.js';
import type { App, Scenario, ScenarioStage } from './scenario.js';

const server = 'streams';
const shardCount = 16;
/** Of each process. Together they publish about ten messages a second. */
const publisherCount = 3;
const longestPauseMs = 2_000;
/** Published after the faults, so that there is something to be handled then. */
const publishesForMs = 8_000;

/**
 * Each process publishes messages of keys of its own, and is a worker of the fleet that handles them all: an effect behind
 * the fence of the resource, recorded with the number of the message so that a repetition is recognised.
 */
export const streams: Scenario = {
  name: 'streams',
  servers: [server],
  prepare(stage) {
    const messages = new MessagesChecker();
    const shards = new ShardsChecker(shardCount);
    const state = new ObservedStreams(messages, { runtime: lastingRuntime(stage.server(server)) });
    return {
      checkers: [messages, shards],
      boot: (host) => publishAndHandle(host, stage, state, shards),
      restarted: () => state.restart({ keepData: true }),
      quiesce: () => shards.settle(),
    };
  },
};

function publishAndHandle(
  host: SimHost,
  { timing, healedAtMs, world }: ScenarioStage,
  state: ObservedStreams,
  shards: ShardsChecker,
): App {
  const { runtime, random } = host;
  const leases = host.leases(timing);
  const store = state.connectedFrom(host.machine, () =>
    memoryStreams(state, { runtime, link: host.linkTo(server) }),
  );
  const topic = new Topic(store, { runtime, shardCount, timeoutMs: 20_000, attemptTimeoutMs: 300 });
  const worker = new StreamWorker({
    ...{ topic, leases, group: 'fleet' },
    fence: host.fence,
    retry: { firstMs: 20, limitMs: 500 },
    callTimeoutMs: 300,
    drainTimeoutMs: 3_000,
    abandonedAfterMs: 3_000,
    handler: (message, { lease }) => shards.handling(lease, handle(message, lease)),
  });
  // A store that does not answer is no news here, and no warning of this process.
  worker.events.on('shardsFailed', () => {});
  worker.events.on('handlerFailed', () => {});
  const leaving = new AbortController();
  shards.joined(host, worker);
  // It is stopped below, and then a start that waits for the store ends too.
  const started = worker.start().catch((error: unknown) => {
    host.note('start failed', String(error));
    if (error instanceof MemberIdTakenError) shards.refused(host.id);
  });
  const publishing = Array.from({ length: publisherCount }, (_, index) => publish(index));
  return {
    close: async () => {
      leaving.abort(new Error('the run is over'));
      await Promise.all(publishing);
      await worker.stop();
      await started;
      await leases.close();
      await store.close();
      await host.coordinator.close();
      await host.fence.close();
    },
  };

  async function publish(index: number): Promise<void> {
    const key = `${host.id}-${index}`;
    for (let count = 1; world.nowMs < healedAtMs + publishesForMs; count += 1) {
      await sleep(runtime, random.between(1, longestPauseMs), leaving.signal);
      if (leaving.signal.aborted) return;
      const id = `${host.machine.incarnation}.${count}`;
      // Again with its id until it is known to be there; after that it must not be appended twice.
      while (!leaving.signal.aborted) {
        const receipt = await topic.publish({ key, id, payload: count }).catch(() => undefined);
        if (receipt !== undefined) break;
      }
    }
  }

  async function handle(
    { key, seq, id }: DeliveredMessage,
    lease: Parameters<typeof host.fence.claim>[0],
  ): Promise<void> {
    // It does not heed the signal on purpose: a late write has to be refused, not avoided.
    await sleep(runtime, random.magnitude(0.1, 60));
    if (random.chance(0.01)) throw new Error('a bad moment');
    try {
      await host.fence.transaction(lease, async (batch) => {
        if (await host.fence.recordOnce(batch, 'messages', key, seq, id))
          batch.set(key, { key, seq, id });
        else host.witness.cover('a repeated message was recognised');
      });
      host.progress('handled');
    } catch (error) {
      if (error instanceof StaleTermError) host.note('refused', `message ${seq} of ${key}`);
      throw error;
    }
  }
}
