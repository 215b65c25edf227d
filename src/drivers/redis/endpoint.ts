import { OptionError } from '../../errors/index.js';
import { type Endpoint, endpointText, parseEndpoint } from '../endpoint.js';

/** How a server's address is translated before it is used: `'10.0.0.1:6379'` to `'127.0.0.1:16379'`. */
export type NodeAddressMap = Readonly<Record<string, string>>;

/** For messages. */
export function addressOf(endpoint: Endpoint, db = 0, tls?: unknown): string {
  return `${tls ? 'rediss' : 'redis'}://${endpointText(endpoint)}/${db}`;
}

/** Where a server that calls itself `told` is reached from here. */
export function translated(told: Endpoint, map: NodeAddressMap): Endpoint {
  const text = endpointText(told);
  const there = Object.hasOwn(map, text) ? map[text] : undefined;
  return there === undefined ? told : (parseEndpoint(there, told.port) ?? told);
}

/** @throws {OptionError} unless every key and value is `host:port`. */
export function checkNodeAddressMap(map: NodeAddressMap = {}): NodeAddressMap {
  const remedy = `map one host:port to another, as in { '10.0.0.1:6379': '127.0.0.1:16379' }`;
  if (typeof map !== 'object' || map === null || Array.isArray(map))
    throw new OptionError('nodeAddressMap', map, 'is not an object', remedy);
  for (const text of Object.entries(map).flat()) {
    if (typeof text !== 'string' || parseEndpoint(text, 0) === undefined)
      throw new OptionError('nodeAddressMap', text, 'holds what is no host:port', remedy);
  }
  return map;
}
