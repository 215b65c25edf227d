import { requireMethods } from '../errors/checks.js';
import { realRuntime } from './real.js';
import type { Runtime } from './runtime.js';

const methods = ['now', 'setTimer', 'random', 'randomHex'] as const satisfies (keyof Runtime)[];

/** The runtime of an option, by default the real one. @throws {OptionError} if it is none. */
export function requireRuntime(runtime: Runtime = realRuntime): Runtime {
  const remedy = `leave it out, or pass an object with ${methods.join(', ')}`;
  return requireMethods('runtime', runtime, methods, 'is not a runtime', remedy);
}
