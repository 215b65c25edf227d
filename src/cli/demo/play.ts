import { Topic } from '../../streams/topic.js';
import { Cleanup } from '../cleanup.js';
import { Lateness } from '../lateness.js';
import { type MessageStores, openMessageStores } from '../stores.js';
import type { Terminal } from '../terminal.js';
import { EmbeddedFleet } from './fleet/embedded.js';
import type { Fleet } from './fleet/fleet.js';
import { ProcessFleet } from './fleet/processes.js';
import { followed, Gateway } from './gateway.js';
import { Narrator } from './narrator.js';
import { Newsroom } from './newsroom.js';
import { OwnershipWatch } from './ownership.js';
import { observerCall, topicName } from './settings.js';
import type { Sink } from './sink.js';
import { createSink } from './sinks/open.js';
import type { Stage } from './stage.js';
import { judgeAll, oneFreezes, oneIsKilled, oneOwnsAll, secondJoins } from './steps.js';
import type { Verdict } from './verdict.js';

export interface DemoSettings {
  readonly url: string;
  /** What the URL was written in. */
  readonly urlSource: string;
  readonly sink: string;
  /** Of this run alone: 12 hexadecimal digits. */
  readonly runId: string;
  readonly signal: AbortSignal;
}

export interface DemoResult {
  readonly verdict: Verdict;
  readonly brokenClaims: readonly string[];
}

/** Sets the stage, plays the five steps, and removes everything again, however they end. */
export async function playDemo(settings: DemoSettings, terminal: Terminal): Promise<DemoResult> {
  const namespace = `demo-${settings.runId}`;
  const stores = await openMessageStores(settings.url, namespace, settings.urlSource);
  const cleanup = new Cleanup();
  try {
    const observer = stores.openCoordinator();
    cleanup.add('a connection', () => observer.close());
    await observer.read(['reachable'], observerCall);
    cleanup.add(`what namespace ${namespace} holds in ${stores.address}`, () => stores.erase());
    const sink = await createSink(settings.sink, settings.runId);
    cleanup.add(`what run ${settings.runId} holds in ${sink.address}`, () => sink.remove());
    const streams = stores.openStreams(topicName);
    cleanup.add('a connection', () => streams.close());
    const news = new Newsroom(settings.signal);
    const fleet = chooseFleet(settings, namespace, stores, sink, news);
    const gateway = new Gateway(new Topic(streams));
    cleanup.add('some workers', () => fleet.close());
    cleanup.add('some unfinished conversations', () => gateway.close());
    const narrator = new Narrator(terminal);
    const ownership = new OwnershipWatch(observer, settings.signal);
    const lateness = new Lateness();
    cleanup.add('a clock', async () => lateness.stop());
    const { signal } = settings;
    const cast = { fleet, gateway, sink, ownership, news, narrator, lateness };
    const stage = { ...cast, signal, changes: [] };
    const verdict = await playSteps(stage, stores);
    return { verdict, brokenClaims: narrator.brokenClaims };
  } finally {
    await cleanup.run(terminal);
  }
}

function chooseFleet(
  { url }: DemoSettings,
  namespace: string,
  stores: MessageStores,
  sink: Sink,
  news: Newsroom,
): Fleet {
  if (stores.isLocal) return new EmbeddedFleet(stores, sink, news.tell);
  return new ProcessFleet({ url, namespace }, sink, news.tell);
}

async function playSteps(stage: Stage, stores: MessageStores): Promise<Verdict> {
  const { narrator, fleet, gateway, news, sink } = stage;
  narrator.title("tenure demo: a support chat, every customer's messages in order", [
    'Customers write to a shop: "I want a refund", "never mind, cancel it". Answered',
    'out of order, or by two at once, that costs money. So every customer belongs to',
    'a shard, every shard to one worker at a time, by a lease of 3 s that is renewed',
    'every second. Workers join, are killed and freeze; a fence at the sink, where',
    'the answers are kept, refuses whoever owns no more.',
    '',
    `${gateway.customerCount} customers, 256 shards, ${fleet.kind}`,
    `leases and messages: ${stores.address}`,
    `sink of the answers: ${sink.address}`,
  ]);
  news.listen(({ type, message, worker }) => {
    if (type === 'written' && message.customer === followed) narrator.answered(message, worker);
  });
  await oneOwnsAll(stage);
  await secondJoins(stage);
  await oneIsKilled(stage);
  await oneFreezes(stage);
  const verdict = await judgeAll(stage);
  narrator.end();
  return verdict;
}
