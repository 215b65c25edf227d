import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Endpoint } from '../../drivers/endpoint.js';
import { open } from '../../drivers/etcd/exchange.js';
import type { EtcdLocation } from '../../drivers/etcd/location.js';
import type { Runtime } from '../../time/index.js';

export interface RawAnswer {
  readonly status: number;
  /** The member's wall clock, as far as it tells: whole seconds. */
  readonly dateMs: number | undefined;
}

/** The head of an answer, which the driver does not look at. `undefined`: there was none. */
export function rawAnswer(
  { tls }: EtcdLocation,
  endpoint: Endpoint,
  path: string,
  { runtime, timeoutMs }: { readonly runtime: Runtime; readonly timeoutMs: number },
): Promise<RawAnswer | undefined> {
  const agent =
    tls === undefined
      ? new HttpAgent()
      : new HttpsAgent({ ca: tls.ca, cert: tls.cert, key: tls.key, servername: tls.serverName });
  const parts = { endpoint, agent, isTls: tls !== undefined, path, token: undefined };
  return new Promise<RawAnswer | undefined>((resolve) => {
    const request = open({ ...parts, method: 'POST', body: '{}' });
    const timer = runtime.setTimer(timeoutMs, () => end(undefined));
    const end = (answer: RawAnswer | undefined) => {
      timer.cancel();
      request.destroy();
      agent.destroy();
      resolve(answer);
    };
    request.on('error', () => end(undefined));
    request.on('response', ({ statusCode = 0, headers }) => {
      const dateMs = Date.parse(headers.date ?? '');
      end({ status: statusCode, dateMs: Number.isNaN(dateMs) ? undefined : dateMs });
    });
  });
}
