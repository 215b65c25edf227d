import { OptionError } from './errors.js';

/*
 * What is asked of every collaborator and every set of options, since not every caller is checked by a compiler: `null`
 * or a number in their place would otherwise fail somewhere inside, with a message about a property of ours.
 */

/** @throws {OptionError} unless `value` is an object: not `null`, no list, no function. */
export function requireObject<Value extends object>(
  option: string,
  value: Value,
  remedy = 'pass an object, or leave it out',
): Value {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new OptionError(option, value, 'is not an object', remedy);
}

/** @throws {OptionError} for a promise, in place of what it is to become. */
export function requireAwaited(option: string, value: unknown, remedy = 'await it first'): void {
  if (typeof Reflect.get(Object(value), 'then') !== 'function') return;
  throw new OptionError(option, 'hidden', 'is a promise', remedy);
}

/** @throws {OptionError} unless `value` has all of these methods; `problem` as in "is not a coordinator". */
export function requireMethods<Value>(
  option: string,
  value: Value,
  methods: readonly string[],
  problem: string,
  remedy: string,
): Value {
  const has = (method: string) => typeof Reflect.get(Object(value), method) === 'function';
  if (methods.every(has)) return value;
  throw new OptionError(option, value, problem, remedy);
}

/** @throws {OptionError} unless it can be called. */
export function requireFunction<Value>(option: string, value: Value, remedy: string): Value {
  if (typeof value === 'function') return value;
  throw new OptionError(option, value, 'is not a function', remedy);
}

/** @throws {OptionError} for an option `signal` that is no signal; it may be left out. */
export function requireSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const methods = ['throwIfAborted', 'addEventListener', 'removeEventListener'];
  const remedy = 'pass the signal of an AbortController, or leave it out';
  requireMethods('signal', signal, methods, 'is not an AbortSignal', remedy);
}

/** @throws {OptionError} unless `value` was made by this class. */
export function requireInstance<Value>(
  option: string,
  value: Value,
  kind: abstract new (...values: never[]) => Value,
): Value {
  if (value instanceof kind) return value;
  throw new OptionError(option, value, `is not a ${kind.name}`, `pass a ${kind.name}`);
}

/** @throws {OptionError} unless `value` is an array. */
export function requireArray<Item>(
  option: string,
  value: readonly Item[],
  remedy: string,
): readonly Item[] {
  if (Array.isArray(value)) return value;
  throw new OptionError(option, value, 'is not an array', remedy);
}

/** @throws {OptionError} unless it is a number of milliseconds, whole or not, within these bounds. */
export function requireDuration(
  option: string,
  value: number,
  smallestMs: number,
  largestMs: number,
): number {
  if (typeof value === 'number' && value >= smallestMs && value <= largestMs) return value;
  const remedy = `use ${smallestMs} to ${largestMs} milliseconds`;
  throw new OptionError(option, value, 'is out of range', remedy);
}

/** @throws {OptionError} unless it is a whole number within these bounds. @param unit such as ` milliseconds`. */
export function requireWhole(
  option: string,
  value: number,
  smallest: number,
  largest: number,
  unit = '',
): number {
  if (Number.isSafeInteger(value) && value >= smallest && value <= largest) return value;
  const remedy = `use a whole number from ${smallest} to ${largest}${unit}`;
  throw new OptionError(option, value, 'is out of range', remedy);
}

/** All keys of some options, or all names of some events: the compiler sees to it that none is missing. */
export type Known<Named extends object> = Readonly<Record<keyof Named, true>>;

/**
 * The options, if all of them are known: one that is misspelt would be passed over in silence, and its default taken.
 *
 * @throws {OptionError} naming the one that is not, and the one that may be meant; or if they are no object.
 */
export function requireKnown<Options extends object>(
  option: string,
  options: Options,
  known: Known<Options>,
  remedy?: string,
): Options {
  requireObject(option, options, remedy);
  for (const name of Object.keys(options))
    requireKnownName(`${option}.${name}`, name, known, 'is no option');
  return options;
}

/** @throws {OptionError} for a name that is none of these, with the one that may be meant. */
export function requireKnownName(
  option: string,
  name: unknown,
  known: Readonly<Record<string, true>>,
  problem: string,
): void {
  if (typeof name === 'string' && Object.hasOwn(known, name)) return;
  const names = Object.keys(known);
  const meant = nearest(String(name), names);
  const remedy = meant === undefined ? `use some of ${names.join(', ')}` : `did you mean ${meant}?`;
  throw new OptionError(option, name, problem, remedy);
}

/** The one of these that a misspelt word is likely to mean. Of a word as short as `run` two other letters make another word. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const written = word.toLowerCase();
  const distances = words.map((one) => {
    const known = one.toLowerCase();
    const letters = distance(written, known);
    const isNear = letters <= 1 || written.length > 3 || known.startsWith(written);
    return isNear ? letters : Number.POSITIVE_INFINITY;
  });
  const least = Math.min(...distances);
  return least <= 2 ? words[distances.indexOf(least)] : undefined;
}

/** How many letters are to be put in, left out or changed. A unit that was forgotten (`timeout` for `timeoutMs`) makes two. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const changed = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
