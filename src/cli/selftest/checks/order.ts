import { Leases } from '../../../leases/index.js';
import { shardLeaseName } from '../../../shards/index.js';
import type { StreamStore } from '../../../streams/contract.js';
import { Topic } from '../../../streams/topic.js';
import { StreamWorker } from '../../../streams/worker/index.js';
import { elapsedMs, realRuntime, sleep } from '../../../time/index.js';
import { Gate } from '../../embedded/gate.js';
import { gated } from '../../embedded/gated.js';
import { type Bench, type Check, type Finding, impatience, observerCall } from '../check.js';

const customer = 'customer-0042';
const messageCount = 6;
/** The owner is killed with the message behind this one in its hands. */
const handledBeforeKill = 3;
const shardCount = 16;
/** The earlier a message, the longer it takes: whoever begins them side by side ends them in reverse. */
const workMs = (seq: number) => (messageCount + 1 - seq) * 100;

export const order: Check = {
  name: 'order',
  claim: "one customer's 6 messages stay in order although their worker is killed",
  run: killInTheMiddle,
};

interface Effect {
  readonly seq: number;
  readonly worker: string;
}

async function killInTheMiddle(bench: Bench): Promise<Finding> {
  const scene = new Scene(bench);
  try {
    const [a, b] = [scene.join('A'), scene.join('B')];
    await Promise.all([a.started, b.started]);
    const victim = (await scene.ownerOfCustomer()) === 'A' ? a : b;
    await scene.publish();
    await scene.until(
      () => scene.effects.length >= handledBeforeKill && scene.begunCount > handledBeforeKill,
      messageCount * workMs(1),
    );
    victim.gate.kill();
    const killedAt = realRuntime.now();
    const { ttlMs, noticedWithinMs } = bench.clock;
    const takeoverMs = ttlMs * 1.5 + noticedWithinMs;
    await scene.until(() => scene.effects.length >= messageCount, takeoverMs);
    return scene.judge(victim.id, elapsedMs(killedAt, realRuntime.now()));
  } finally {
    await scene.close();
  }
}

interface Colleague {
  readonly id: string;
  readonly gate: Gate;
  readonly started: Promise<void>;
  leave(): Promise<void>;
}

class Scene {
  /** What reached the resource, in the order in which it did. */
  readonly effects: Effect[] = [];
  begunCount = 0;
  readonly #bench: Bench;
  readonly #topic: Topic;
  readonly #colleagues: Colleague[] = [];

  constructor(bench: Bench) {
    this.#bench = bench;
    this.#topic = this.#topicOn(bench.openStreams());
  }

  join(id: string): Colleague {
    const bench = this.#bench;
    const gate = new Gate();
    const { runtime } = gate;
    const { timing } = bench.clock;
    const leases = new Leases(gated(bench.openCoordinator(), gate), { ...timing, id, runtime });
    const worker = new StreamWorker({
      topic: this.#topicOn(gated(bench.openStreams(), gate)),
      ...impatience,
      leases,
      group: bench.name,
      fence: gated(bench.fence, gate),
      handler: bench.handlerOf<string>(async ({ seq }, { lease }) => {
        this.begunCount += 1;
        await sleep(runtime, workMs(seq));
        await gate.pass();
        await bench.fence.transaction(lease, async () => {});
        this.effects.push({ seq, worker: id });
      }),
    });
    const leave = async () => {
      await worker.stop();
      await leases.close();
    };
    const colleague = { id, gate, started: worker.start(), leave };
    this.#colleagues.push(colleague);
    return colleague;
  }

  /** Waits until all shards have an owner and the split is even, then says who has the customer's. */
  async ownerOfCustomer(): Promise<string | undefined> {
    const name = shardLeaseName(this.#bench.name, this.#topic.shardOf(customer));
    let owner: string | undefined;
    await this.until(async () => {
      const records = await this.#bench.observer.list(`${this.#bench.name}/shards`, observerCall);
      const held = records.flatMap((record) => (record.state === 'held' ? [record] : []));
      owner = held.find((record) => record.name === name)?.holder.id;
      const shareCount = held.filter(({ holder }) => holder.id === 'A').length;
      return held.length === shardCount && shareCount === shardCount / 2;
    }, this.#bench.clock.ttlMs);
    return owner;
  }

  async publish(): Promise<void> {
    const seqs = Array.from({ length: messageCount }, (_, index) => index + 1);
    await this.#topic.publishMany(
      seqs.map((seq) => ({ key: customer, id: `message-${seq}`, payload: `line ${seq}` })),
    );
  }

  /** Until the condition holds, or so long: what did not happen by then is what the figures show. */
  async until(condition: () => boolean | Promise<boolean>, limitMs: number): Promise<void> {
    const since = realRuntime.now();
    while (!(await condition()) && elapsedMs(since, realRuntime.now()) < limitMs)
      await sleep(realRuntime, 20);
  }

  judge(victimId: string, takeoverMs: number): Finding {
    const seqs = this.effects.map(({ seq }) => seq);
    const [before, after] = [this.effects.slice(0, 3), this.effects.slice(3)];
    const inOrder = seqs.join() === '1,2,3,4,5,6';
    const byRightHands =
      before.every(({ worker }) => worker === victimId) &&
      after.every(({ worker }) => worker !== victimId);
    const hands = this.effects.map(({ worker }) => worker).join(' ');
    return {
      passed: inOrder && byRightHands,
      isWrong: seqs.some((seq, index) => seq !== index + 1),
      figures: [
        `handled in order ${seqs.join(', ') || 'none'} by ${hands || 'nobody'}`,
        inOrder
          ? `${victimId} killed with message 4 in hand; done ${Math.round(takeoverMs)} ms later`
          : `${victimId} killed after ${handledBeforeKill} effects; ${messageCount - seqs.length} messages lost`,
      ],
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#colleagues.map(({ gate, leave }) => endOrLeave(gate, leave)));
  }

  #topicOn(store: StreamStore): Topic {
    return new Topic(store, { shardCount });
  }
}

/** Who was killed cannot leave: nothing of it ever settles. */
async function endOrLeave(gate: Gate, leave: () => Promise<void>): Promise<void> {
  if (!gate.isKilled) await leave();
}
