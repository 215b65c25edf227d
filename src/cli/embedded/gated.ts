import type { Gate } from './gate.js';

/** Methods that take a listener and return at once. All others are requests that return a promise. */
const subscriptions = new Set<string | symbol>(['watch', 'onCalled', 'onConnectionLost', 'on']);

type Method = (...args: unknown[]) => unknown;

/**
 * `target` as an embedded process sees it: a frozen one neither sends a request nor receives an answer or an event, and
 * a killed one never again. A request that was sent before is executed all the same.
 */
export function gated<Target extends object>(target: Target, gate: Gate): Target {
  return new Proxy(target, {
    get(_target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as Method;
      return subscriptions.has(key) ? subscription(method, gate) : request(method, gate);
    },
  });
}

function subscription(method: Method, gate: Gate): Method {
  return (...args) => {
    const listener = args.pop() as Method;
    return method(...args, (...event: unknown[]) => gate.deliver(() => listener(...event)));
  };
}

function request(method: Method, gate: Gate): Method {
  return async (...args) => {
    await gate.pass();
    try {
      return await method(...args);
    } finally {
      await gate.pass();
    }
  };
}
