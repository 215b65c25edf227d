import { defaultShardCount, shardOf } from '../../shards/index.js';
import { elapsedMs, realRuntime, sleep } from '../../time/index.js';
import { followed } from './gateway.js';
import type { MessageFacts } from './news.js';
import { areTakenOver, type Owners, shardsOf } from './ownership.js';
import { takeoverToleranceMs, ttlMs, workMs } from './settings.js';
import { type Progress, untilSettled } from './settled.js';
import { note, ownerOf, pause, type Stage, untilSink } from './stage.js';
import { judge, type Verdict } from './verdict.js';

const shardCount = defaultShardCount;
/** Nothing that is claimed takes nearly as long; what does is reported as broken. */
const patienceMs = 10_000;
const followedShard = shardOf(followed);
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

export async function oneOwnsAll(stage: Stage): Promise<void> {
  const { fleet, gateway, narrator, ownership } = stage;
  narrator.step('One worker owns everything, and every message is answered');
  await fleet.spawn('w1');
  note(stage, 'w1 owns every shard');
  const { owners } = await ownership.until((seen) => seen.size === shardCount, patienceMs);
  narrator.say(
    `w1 joined, the chat opens. Shown is ${followed} (shard ${followedShard}), all are counted.`,
  );
  gateway.open();
  await pause(stage, 2_200);
  const answers = await untilSink(
    stage,
    (kept) => kept.length >= gateway.customerCount,
    patienceMs,
  );
  const count = shardsOf(owners, 'w1').length;
  narrator.prove(
    count === shardCount,
    `${count} of ${shardCount} shards are w1's, by the store's records`,
  );
  narrator.prove(
    answers.length >= gateway.customerCount,
    `messages flow: ${answers.length} answered so far`,
  );
}

export async function secondJoins(stage: Stage): Promise<void> {
  const { narrator, ownership } = stage;
  narrator.step('A second worker joins: it gets its half, and no more than that moves');
  const before = await ownership.now();
  await join(stage, 'w2');
  const { owners, tookMs } = await untilEven(stage, ['w1', 'w2']);
  const [first = [], second = []] = await askBoth(stage);
  const moved = shardsThatMoved(before, owners);
  const counts = [shardsOf(owners, 'w1').length, shardsOf(owners, 'w2').length];
  narrator.prove(
    counts.join() === '128,128',
    `${shardCount} became ${counts.join(' and ')} in ${seconds(tookMs)}`,
  );
  narrator.prove(moved.length === 128, `exactly ${moved.length} shards moved, after their drain`);
  const shared = first.filter((shard) => second.includes(shard));
  narrator.prove(
    shared.length === 0 && first.length + second.length === shardCount,
    `asked themselves, w1 says ${first.length}, w2 says ${second.length}, shared ${shared.length}`,
  );
  await pause(stage, 2_200);
  await untilSink(stage, (kept) => kept.some(({ worker }) => worker === 'w2'), patienceMs);
  await proveOrder(stage);
}

export async function oneIsKilled(stage: Stage): Promise<void> {
  const { fleet, narrator, ownership } = stage;
  narrator.step('A worker is killed in the middle of a message: nothing is lost');
  const before = await ownership.now();
  const victim = ownerOf(before, followedShard);
  const inHand = await inTheMiddle(stage, victim, () => {
    const how = fleet.kill(victim);
    note(stage, `${victim} was killed`);
    narrator.say(`${victim} is killed: ${how}`);
  });
  await proveTakeover(stage, victim, before, 'killed');
  await proveHandledFirst(stage, inHand);
}

export async function oneFreezes(stage: Stage): Promise<void> {
  const { fleet, narrator, ownership, news } = stage;
  narrator.step('Another joins; one freezes in a message and wakes too late: it is refused');
  await join(stage, 'w3');
  await untilEven(stage, ['w1', 'w3']);
  narrator.say('128 and 128 again.');
  await pause(stage, 1_000);
  const before = await ownership.now();
  const sleeper = ownerOf(before, followedShard);
  const inHand = await inTheMiddle(stage, sleeper, () => {
    const how = fleet.freeze(sleeper);
    note(stage, `${sleeper} froze`);
    narrator.say(`${sleeper} freezes: ${how}`);
  });
  await proveTakeover(stage, sleeper, before, 'frozen');
  await proveHandledFirst(stage, inHand);
  const refusal = news.next('refused', ({ number }) => number === inHand.number, patienceMs);
  note(stage, `${sleeper} woke and joined again`);
  narrator.say(`${sleeper} wakes: ${fleet.thaw(sleeper)}; it goes on where it stood`);
  await proveRefusal(stage, inHand, await refusal);
}

export async function judgeAll(stage: Stage): Promise<Verdict> {
  const { gateway, narrator, news, sink } = stage;
  narrator.step('The verdict, from what the sink holds');
  await gateway.close();
  await untilSettled(gateway.published.length, () => progressOf(stage), stage.signal);
  // What a worker would still do wrongly, it shall have the time to do.
  await pause(stage, 1_000);
  // Asked for first: what is handled between the two still counts as handled.
  const backlog = await gateway.backlog();
  const answers = await sink.answers();
  const refused = news.refused.map(({ message }) => message);
  const verdict = judge(gateway.published, answers, refused, backlog);
  narrator.verdict(verdict);
  narrator.prove(verdict.holds, 'handled is published, each once, in order, under rising terms');
  narrator.say();
  narrator.say(`The conversation with ${followed}, as it stands in the sink:`);
  narrator.conversation(
    answers.filter(({ customer }) => customer === followed),
    ({ worker, term, finishedAtMs }) => {
      const cause = stage.changes.findLast(({ atMs }) => atMs < finishedAtMs)?.what;
      return `${worker}, term ${term} (${cause})`;
    },
  );
  return verdict;
}

async function progressOf({ gateway, sink }: Stage): Promise<Progress> {
  const [backlog, answers] = await Promise.all([gateway.backlog(), sink.answers()]);
  const waitingCount = [...backlog.values()].reduce((sum, count) => sum + count, 0);
  return { handledCount: new Set(answers.map(({ number }) => number)).size, waitingCount };
}

async function join(stage: Stage, id: string): Promise<void> {
  note(stage, `${id} joined`);
  await stage.fleet.spawn(id);
  stage.narrator.say(`${id} joined`);
}

/** What w1 and w2 believe. The store knows of a grant a moment before its owner does. */
async function askBoth({ fleet, signal }: Stage): Promise<readonly (readonly number[])[]> {
  const since = realRuntime.now();
  for (;;) {
    const held = await Promise.all([fleet.heldBy('w1'), fleet.heldBy('w2')]);
    const isSettled = held.flat().length === shardCount;
    if (isSettled || elapsedMs(since, realRuntime.now()) > 1_000) return held;
    await sleep(realRuntime, 25, signal);
  }
}

async function untilEven({ ownership }: Stage, workers: readonly [string, string]) {
  const half = shardCount / 2;
  return await ownership.until(
    (owners) => workers.every((worker) => shardsOf(owners, worker).length === half),
    patienceMs,
  );
}

function shardsThatMoved(before: Owners, after: Owners): number[] {
  return [...after.keys()].filter(
    (shard) => before.get(shard)?.worker !== after.get(shard)?.worker,
  );
}

async function proveOrder({ gateway, narrator, sink }: Stage): Promise<void> {
  const { inversionCount, overlapCount } = judge(gateway.published, await sink.answers(), []);
  narrator.prove(
    inversionCount + overlapCount === 0,
    `order kept over the move: ${inversionCount} inversions, ${overlapCount} overlaps`,
  );
}

/** Does something to a worker at the moment it begins a message of the followed customer; returns the message. */
async function inTheMiddle(stage: Stage, worker: string, act: () => void): Promise<MessageFacts> {
  const fits = ({ customer }: MessageFacts, by: string) => customer === followed && by === worker;
  const begun = await stage.news.next('began', fits, patienceMs, ({ message }) => {
    stage.narrator.say(`${worker} begins ${nameOf(message)}: "${message.text}"`);
    act();
  });
  if (begun === undefined)
    throw new Error(`${worker} was given no message of ${followed} in ${seconds(patienceMs)}`);
  return begun.message;
}

async function proveTakeover(
  { narrator, ownership, lateness }: Stage,
  victim: string,
  before: Owners,
  what: string,
): Promise<void> {
  const orphans = shardsOf(before, victim);
  lateness.restart();
  const { owners, tookMs } = await ownership.until(
    (seen) => areTakenOver(orphans, before, seen),
    patienceMs,
  );
  narrator.prove(
    areTakenOver(orphans, before, owners) && tookMs <= lateness.limitMs(ttlMs, takeoverToleranceMs),
    `its ${orphans.length} shards have a new owner and higher terms ${seconds(tookMs)} after it was ${what} (ttl ${seconds(ttlMs)})`,
  );
  if (lateness.remark !== undefined) narrator.say(`(${lateness.remark})`);
}

/** The message that the lost worker had in its hands comes before all that follow it. */
async function proveHandledFirst(stage: Stage, inHand: MessageFacts): Promise<void> {
  const later = ({ customer, seq }: { customer: string; seq: number }) =>
    customer === inHand.customer && seq >= inHand.seq;
  const answers = await untilSink(stage, (kept) => kept.some(later), patienceMs);
  const first = answers.find(later);
  stage.narrator.prove(
    first?.seq === inHand.seq && first.term > inHand.term,
    `${nameOf(inHand)}, which it had in its hands, was handled first: by ${first?.worker}, under term ${first?.term} instead of ${inHand.term}`,
  );
  // What has piled up meanwhile.
  await pause(stage, workMs.followed * 2);
}

async function proveRefusal(
  { narrator }: Stage,
  inHand: MessageFacts,
  refusal: { readonly words: string; readonly awakening: string | undefined } | undefined,
): Promise<void> {
  narrator.prove(
    refusal?.awakening?.startsWith('refused') === true,
    `its renewal of term ${inHand.term} was ${refusal?.awakening ?? 'not even sent'}`,
  );
  narrator.prove(refusal !== undefined, 'its answer was refused by the fence, in these words:');
  narrator.quote(refusal?.words ?? 'nothing was refused');
}

function nameOf({ customer, seq }: MessageFacts): string {
  return `${customer} #${seq}`;
}
