import type { Coordinator } from '../../coordinators/index.js';
import type { Witness } from '../witness.js';
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

  async function watched(
    answer: Promise<unknown>,
    told: { readonly process: string; readonly operation: string; readonly args: unknown[] },
  ): Promise<unknown> {
    const { world, clock } = process;
    const sentAtMs = world.nowMs;
    const sentAtMonotonicMs = clock.monotonicMs;
    const tell = (outcome: { readonly value: unknown } | { readonly error: unknown }) => {
      const tookMs = clock.monotonicMs - sentAtMonotonicMs;
      const wasPaused = process.resumedAtMs >= sentAtMs;
      const timeoutMs = timeoutOf(told.args);
      const times = { sentAtMs, answeredAtMs: world.nowMs, tookMs, timeoutMs, wasPaused };
      witness.tell('called', { ...told, ...times, outcome });
    };
    try {
      const value = await answer;
      tell({ value });
      return value;
    } catch (error) {
      tell({ error });
      throw error;
    }
  }
}

const isCall = (args: readonly unknown[]) => timeoutOf(args) !== undefined;

function timeoutOf(args: readonly unknown[]): number | undefined {
  const last: unknown = args.at(-1);
  if (typeof last !== 'object' || last === null) return undefined;
  const timeoutMs: unknown = Reflect.get(last, 'timeoutMs');
  return typeof timeoutMs === 'number' ? timeoutMs : undefined;
}
