import type { Coordinator } from '../../coordinators/index.js';
import type { CallRecord, Witness } from '../witness.js';
import type { Machine } from '../world/machine.js';

/**
 * The same coordinator, of which every call is told to the witness as its caller sees it. Works with any coordinator: it
 * knows nothing of the methods but that those with a promise are calls.
 */
export function recorded(
  coordinator: Coordinator,
  process: Machine,
  witness: Witness,
): Coordinator {
  const wrapped = new Map<PropertyKey, unknown>();
  return new Proxy(coordinator, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function') return member;
      const known = wrapped.get(property);
      if (known !== undefined) return known;
      const call = (...args: unknown[]): unknown => {
        const told = { process: process.id, operation: String(property), args };
        if (isCall(args)) witness.tell('calling', told);
        const answer: unknown = Reflect.apply(member, target, args);
        return answer instanceof Promise && isCall(args) ? watched(answer, told) : answer;
      };
      wrapped.set(property, call);
      return call;
    },
  });

  /** Told before its caller hears of it. */
  function watched(
    answer: Promise<unknown>,
    { operation, args }: Pick<CallRecord, 'operation' | 'args'>,
  ): Promise<unknown> {
    const { id, world, clock } = process;
    const sentAtMs = world.nowMs;
    const sentAtMonotonicMs = clock.monotonicMs;
    const tell = (outcome: CallRecord['outcome']) =>
      witness.tell('called', {
        process: id,
        operation,
        args,
        sentAtMs,
        answeredAtMs: world.nowMs,
        tookMs: clock.monotonicMs - sentAtMonotonicMs,
        wasPaused: process.resumedAtMs >= sentAtMs,
        timeoutMs: timeoutOf(args),
        outcome,
      });
    return answer.then(
      (value) => {
        tell({ value });
        return value;
      },
      (error: unknown) => {
        tell({ error });
        throw error;
      },
    );
  }
}

const isCall = (args: readonly unknown[]) => timeoutOf(args) !== undefined;

function timeoutOf(args: readonly unknown[]): number | undefined {
  const last: unknown = args.at(-1);
  if (typeof last !== 'object' || last === null) return undefined;
  const timeoutMs: unknown = Reflect.get(last, 'timeoutMs');
  return typeof timeoutMs === 'number' ? timeoutMs : undefined;
}
