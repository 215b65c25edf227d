import {
  type EffectContext,
  EffectSupersededError,
  EffectUnderWayError,
  EffectUnknownError,
  EffectUnrecordedError,
  NotAppliedError,
  Once,
  type OnceRecord,
  type UnknownDecision,
} from '../../once/index.js';
import { MemoryKeys, memoryOnce } from '../../once/memory/index.js';
import { recordOf } from '../../once/rules/decisions.js';
import { sleep } from '../../time/index.js';
import { type Charge, OnceChecker } from '../checkers/once.js';
import type { SimHost } from '../host.js';
import { lastingRuntime } from '../world/lasting-runtime.js';
import { Orders } from './orders.js';
import type { App, Scenario } from './scenario.js';

const server = 'keys';
/** Of each process: how many of its calls are under way at once. */
const callerCount = 2;

/**
 * Everybody calls for the same effects, by key, until they have the result. An effect takes a while before and after it
 * takes place, throws now and then, and its process crashes in between. What is unknown then is decided by the caller,
 * who looks at the bank or does not, or by an operator.
 */
export const once: Scenario = {
  name: 'once',
  servers: [server],
  prepare(stage) {
    const state = new MemoryKeys({ runtime: lastingRuntime(stage.server(server)) });
    const checker = new OnceChecker({ recordOf: (key) => recordOf(key, state.find(key)) });
    const orders = new Orders(stage);
    return {
      checkers: [checker],
      boot: (host) => callForAll(host, state, orders, checker),
      isSettled: () => orders.areDone,
      quiesce: () => checker.settle(orders.open()),
    };
  },
};

function callForAll(host: SimHost, state: MemoryKeys, orders: Orders, bank: OnceChecker): App {
  const { runtime, random, witness } = host;
  const keys = new Once(memoryOnce(state, { runtime, link: host.linkTo(server) }), {
    ...{ id: host.id, runtime, callTimeoutMs: 1_000 },
  });
  const leaving = new AbortController();
  const { signal } = leaving;
  const effects = new Set<Promise<Charge>>();
  const running = [decideAsOperator(), ...Array.from({ length: callerCount }, callAgain)];
  return {
    close: async () => {
      leaving.abort(new Error('the run is over'));
      await Promise.all(running);
      // An effect may go on after its call was answered: its process waits for it, as a user's would.
      await Promise.allSettled(effects);
      await keys.close();
      await host.coordinator.close();
      await host.fence.close();
    },
  };

  async function callAgain(): Promise<void> {
    while (!signal.aborted) {
      await sleep(runtime, random.magnitude(20, 1_500), signal);
      const key = orders.pick(random);
      if (key === undefined || signal.aborted) continue;
      try {
        const told = await keys.do(key, begin, {
          timeoutMs: Math.round(random.magnitude(1_000, 4_000)),
          waitMs: random.chance(0.5) ? random.between(0, 2_000) : 0,
          ...(decisionOf(key) !== 'throw' && { onUnknown: decide }),
          signal,
        });
        bank.answered(key, told, host.id);
        orders.done(key);
        host.progress('effect');
      } catch (error) {
        for (const kind of kinds)
          if (error instanceof kind) witness.cover(`an effect failed: ${kind.name}`);
      }
    }
  }

  function begin(context: EffectContext): Promise<Charge> {
    const effect = charge(context);
    effects.add(effect);
    const over = () => void effects.delete(effect);
    effect.then(over, over);
    return effect;
  }

  /** Nothing stops the process between the look at the time and the effect, so none comes too late. */
  async function charge(context: EffectContext): Promise<Charge> {
    const { key, attempt } = context;
    await sleep(runtime, random.magnitude(1, 1_500));
    if (random.chance(0.05)) throw new NotAppliedError('declined');
    if (context.remainingMs === 0) throw new NotAppliedError('too late');
    const charged = { attempt, process: host.id };
    bank.charged(key, charged);
    host.note('effect', `${key} attempt ${attempt}`);
    await sleep(runtime, random.magnitude(1, 1_500));
    if (random.chance(0.1)) throw new Error('the line broke');
    return charged;
  }

  async function decide(record: OnceRecord): Promise<UnknownDecision<Charge>> {
    const { key, attempt } = record;
    if (decisionOf(key) === 'repeat') {
      bank.repeated(key, attempt);
      return 'repeat';
    }
    const done = bank.chargeOf(key);
    // Others decide meanwhile, and begin anew.
    await sleep(runtime, random.magnitude(1, 4_000));
    return done === undefined ? 'repeat' : { done };
  }

  async function decideAsOperator(): Promise<void> {
    while (!signal.aborted) {
      await sleep(runtime, random.between(1_000, 4_000), signal);
      try {
        for (const record of signal.aborted ? [] : await keys.unknown({ limit: 20 })) {
          const done = bank.chargeOf(record.key);
          const act = { by: host.id, reason: 'the bank says so', of: record };
          const outcome = done === undefined ? 'not-applied' : { done };
          const { isSettled } = await keys.settle(record.key, outcome, act);
          if (isSettled)
            witness.cover(
              `an operator settled a key: ${Object.keys(outcome).length === 1 ? 'done' : 'not applied'}`,
            );
        }
      } catch {
        // The store gave no answer: at the next look.
      }
    }
  }
}

const kinds = [
  EffectSupersededError,
  EffectUnderWayError,
  EffectUnknownError,
  EffectUnrecordedError,
  NotAppliedError,
];

/** What a caller does about an outcome that is not known: a third of the keys each. */
function decisionOf(key: string): 'throw' | 'look' | 'repeat' {
  return (['throw', 'look', 'repeat'] as const)[Number(key.split('/')[1]) % 3] ?? 'throw';
}
