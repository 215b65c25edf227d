import { validateName } from '../../coordinators/index.js';
import {
  type Known,
  requireDuration,
  requireFunction,
  requireKnown,
  requireMethods,
} from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import { isolated } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { Fence } from '../contract.js';
import type { FencingProblem } from './problems.js';
import { warnOnce } from './unheard-outage.js';

/**
 * Which name a request is fenced by. The server decides, so that no client can choose a name for which nothing is
 * installed, or fill the store with names:
 *
 * - a text: this one name;
 * - a function: the name of this request, for instance from its path, or `undefined` for none. Answer only names of
 *   things that exist;
 * - an object with `accepts`: the client names it, in `Fencing-Resource`, and this says whether it may.
 *
 * A `Fencing-Resource` that differs from the server's answer is refused. A function that throws makes the answer 503.
 */
export type HttpFenceResource<Request> =
  | string
  | ((request: Request) => string | undefined | Promise<string | undefined>)
  | { accepts(name: string, request: Request): boolean | Promise<boolean> };

export interface HttpFenceOptions<Request = unknown> {
  /**
   * Keeps the highest term seen, for all processes of the service: any fence of tenure, or anything that has its `claim`.
   * One in memory forgets at a restart, and knows of one process alone.
   */
  readonly fence: Pick<Fence<never>, 'claim'>;
  readonly resource: HttpFenceResource<Request>;
  /**
   * Whether a fenced request without the headers is refused with 428. Default `true`; `false` lets it pass unfenced, for
   * the time in which clients are being changed.
   */
  readonly required?: boolean;
  /**
   * The methods that are fenced. Default `unsafe`: all but GET, HEAD, OPTIONS and TRACE. `all`, or a list of names in
   * capitals; a method that is not named passes unfenced.
   */
  readonly methods?: 'unsafe' | 'all' | readonly string[];
  /**
   * How far a term may lie above this machine's wall clock in milliseconds since 1970, from 0; default 3 600 000, an hour.
   * Terms of most coordinators follow their clock, so a higher one is a mistake or an attempt to lock out every later owner,
   * and is refused with 400. Those of etcd and of ZooKeeper follow none: see {@link maxTerm}.
   */
  readonly maxTermAheadMs?: number;
  /**
   * The highest term that is taken, in place of one by the clock; not to be given with `maxTermAheadMs`. For coordinators
   * whose terms count what happens in the store: etcd's are far below the clock, so one request with the time for a term
   * would lock out every owner to come, and ZooKeeper's grow past it. A number from 1, or a function that finds it out, for
   * instance a little above the store's own counter; if it throws, the answer is 503. `Infinity`: any term is taken.
   */
  readonly maxTerm?: number | (() => number | Promise<number>);
  /** How long the store may take, in milliseconds, 1 to 3 600 000; then the answer is 503. Default 5 000. */
  readonly timeoutMs?: number;
  /** `Retry-After` of a 503, in milliseconds, 0 to 86 400 000, rounded up to seconds. Default 1 000. */
  readonly retryAfterMs?: number;
  /**
   * Told of every answer that the fence gives in place of the service, with what the store threw, if it did. What it
   * throws is a process warning. Without it, the first 503 is one (`TENURE_STORE_UNREACHED`).
   */
  readonly onRefused?: (refusal: HttpFenceRefusal<Request>) => void;
  /** Clocks and timers; for tests. Default those of this process. */
  readonly runtime?: Runtime;
}

export interface HttpFenceRefusal<Request = unknown> {
  readonly problem: FencingProblem;
  readonly request: Request;
  /** Why the store could not be asked, or what it said. */
  readonly cause: unknown;
}

export interface ResolvedHttpFence<Request> {
  readonly fence: Pick<Fence<never>, 'claim'>;
  readonly resource: HttpFenceResource<Request>;
  readonly required: boolean;
  isFenced(method: string): boolean;
  readonly highestTerm: () => number | Promise<number>;
  readonly timeoutMs: number;
  readonly retryAfterMs: number;
  readonly onRefused: (refusal: HttpFenceRefusal<Request>) => void;
  readonly runtime: Runtime;
}

const hourMs = 60 * 60 * 1000;
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);
const methodPattern = /^[A-Z][A-Z-]{0,31}$/;

const optionKeys: Known<HttpFenceOptions> = {
  fence: true,
  resource: true,
  required: true,
  methods: true,
  maxTermAheadMs: true,
  maxTerm: true,
  timeoutMs: true,
  retryAfterMs: true,
  onRefused: true,
  runtime: true,
};

export function resolveHttpFence<Request>(
  options: HttpFenceOptions<Request>,
): ResolvedHttpFence<Request> {
  requireKnown('options', options, optionKeys, 'pass at least fence and resource');
  const { required = true, onRefused } = options;
  const runtime = requireRuntime(options.runtime);
  if (typeof required !== 'boolean')
    throw new OptionError('required', required, 'is not a boolean', 'use true or false');
  if (onRefused !== undefined) requireFunction('onRefused', onRefused, 'pass one, or leave it out');
  return {
    fence: requireFence(options.fence),
    resource: requireResource(options.resource),
    required,
    isFenced: resolveMethods(options.methods),
    highestTerm: resolveHighestTerm(options, runtime),
    timeoutMs: requireDuration('timeoutMs', options.timeoutMs ?? 5_000, 1, hourMs),
    retryAfterMs: requireDuration('retryAfterMs', options.retryAfterMs ?? 1_000, 0, 24 * hourMs),
    onRefused: onRefused === undefined ? warnOnce() : isolated('onRefused', onRefused),
    runtime,
  };
}

function requireFence(fence: Pick<Fence<never>, 'claim'>): Pick<Fence<never>, 'claim'> {
  const remedy = 'pass a fence, for instance postgresFence(pool)';
  return requireMethods('fence', fence, ['claim'], 'is not a fence', remedy);
}

function requireResource<Request>(
  resource: HttpFenceResource<Request>,
): HttpFenceResource<Request> {
  if (typeof resource === 'string') return validateName(resource, 'resource');
  if (typeof resource === 'function') return resource;
  const remedy = 'pass a name, a function of the request, or { accepts(name, request) }';
  return requireMethods('resource', resource, ['accepts'], 'names no resource', remedy);
}

function resolveMethods(
  methods: HttpFenceOptions['methods'] = 'unsafe',
): (method: string) => boolean {
  if (methods === 'all') return () => true;
  // What is not known to be safe is fenced.
  if (methods === 'unsafe') return (method) => !safeMethods.has(method);
  const isMethod = (name: unknown) => typeof name === 'string' && methodPattern.test(name);
  if (Array.isArray(methods) && methods.length > 0 && methods.every(isMethod)) {
    const named = new Set<string>(methods);
    return (method) => named.has(method);
  }
  const remedy = "use 'unsafe', 'all' or a list of names in capitals";
  throw new OptionError('methods', methods, 'names no methods', remedy);
}

function resolveHighestTerm(
  { maxTerm, maxTermAheadMs }: Pick<HttpFenceOptions, 'maxTerm' | 'maxTermAheadMs'>,
  runtime: Runtime,
): () => number | Promise<number> {
  if (maxTerm === undefined) {
    const aheadMs = requireDuration('maxTermAheadMs', maxTermAheadMs ?? hourMs, 0, Infinity);
    return () => runtime.now().wallMs + aheadMs;
  }
  if (maxTermAheadMs !== undefined) {
    const remedy = 'leave out one of the two';
    throw new OptionError('maxTerm', maxTerm, 'is given beside maxTermAheadMs', remedy);
  }
  if (typeof maxTerm === 'function') return maxTerm;
  if (typeof maxTerm === 'number' && maxTerm >= 1) return () => maxTerm;
  const remedy = 'use a number from 1, or a function that answers one';
  throw new OptionError('maxTerm', maxTerm, 'is no term', remedy);
}
