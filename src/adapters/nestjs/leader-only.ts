import { OptionError } from '../../errors/index.js';
import type { Lease } from '../../leases/index.js';
import { requireExperimentalDecorators } from './decorators.js';

/** Says who leads in one application of this process. */
export interface LeadershipSource {
  /** The leases by which it leads now, whatever has become of them. */
  readonly leases: ReadonlySet<Pick<Lease, 'state'>>;
  /** Each job has an election of its own, so that there is no one leader. */
  readonly isSpread: boolean;
}

/** The applications of this process: one, but for tests. */
const sources = new Set<LeadershipSource>();

/** The returned function takes it back. */
export function provideLeadership(source: LeadershipSource): () => void {
  sources.add(source);
  return () => {
    sources.delete(source);
  };
}

/** Asks the leases, and so the clock: right in the first statement after a freeze, and `false` while one is uncertain. */
function isLeading(method: string): boolean {
  for (const { leases, isSpread } of sources) {
    if (isSpread) throw spreadError(method);
    for (const lease of leases) if (lease.state === 'held') return true;
  }
  return false;
}

/**
 * A method that runs in the process that leads alone; elsewhere a call returns `undefined` at once. For what may run twice
 * for a moment around a change of leaders, such as warming a cache: the leader may be frozen between this question and the
 * first line. What must not run twice belongs in a {@link SingletonCron}, or behind a fence.
 */
export function LeaderOnly(): MethodDecorator {
  return (target, key, descriptor) => {
    requireExperimentalDecorators('@LeaderOnly()', target, key);
    const method: unknown = descriptor?.value;
    if (typeof method !== 'function')
      throw new OptionError('@LeaderOnly()', String(key), 'is not a method', 'put it on a method');
    const guarded = function (this: unknown, ...values: unknown[]): unknown {
      return isLeading(String(key)) ? Reflect.apply(method, this, values) : undefined;
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
