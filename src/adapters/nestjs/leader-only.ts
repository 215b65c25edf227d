import { OptionError } from '../../errors/index.js';

/** What the modules of this process know of leading. */
const leading = new Set<object>();
let isSpread = false;

/** Each job has an election of its own, so that there is no one leader. */
export function noteSpread(): void {
  isSpread = true;
}

/** A module leads from now on; the returned function says that it does not any more. */
export function noteLeading(): () => void {
  const token = {};
  leading.add(token);
  return () => {
    leading.delete(token);
  };
}

/**
 * A method that runs in the process that leads alone; elsewhere a call returns `undefined` at once. For what may run twice
 * for a moment around a change of leaders, such as warming a cache: the leader may be frozen between this question and the
 * first line. What must not run twice belongs in a {@link SingletonCron}, or behind a fence.
 */
export function LeaderOnly(): MethodDecorator {
  return (_target, key, descriptor) => {
    const method: unknown = descriptor.value;
    if (typeof method !== 'function')
      throw new OptionError('@LeaderOnly()', String(key), 'is not a method', 'put it on a method');
    const guarded = function (this: unknown, ...values: unknown[]): unknown {
      if (isSpread) throw spreadError(String(key));
      return leading.size > 0 ? Reflect.apply(method, this, values) : undefined;
    };
    keepMetadata(method, guarded);
    descriptor.value = guarded as never;
  };
}

function spreadError(method: string): OptionError {
  const remedy = 'leave spread out, or make the method a @SingletonCron';
  return new OptionError('spread', true, `leaves no one leader for @LeaderOnly ${method}`, remedy);
}

/** Other decorators of the method, below this one, have left theirs on the function. */
function keepMetadata(from: object, to: object): void {
  const { getMetadataKeys, getMetadata, defineMetadata } = Reflect as unknown as {
    getMetadataKeys?(target: object): unknown[];
    getMetadata(key: unknown, target: object): unknown;
    defineMetadata(key: unknown, value: unknown, target: object): void;
  };
  for (const key of getMetadataKeys?.(from) ?? []) defineMetadata(key, getMetadata(key, from), to);
}
