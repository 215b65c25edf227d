import { connect } from 'node:net';
import type { Endpoint } from '../../drivers/endpoint.js';
import type { Runtime } from '../../time/index.js';

/** What a server says to the four letters `srvr`; empty if it is not allowed to, or says nothing in time. */
export function askSrvr(
  { host, port }: Endpoint,
  { runtime, timeoutMs }: { readonly runtime: Runtime; readonly timeoutMs: number },
): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host, port });
    const end = () => {
      timer.cancel();
      socket.destroy();
      resolve(text);
    };
    const timer = runtime.setTimer(timeoutMs, end);
    socket.setEncoding('utf8');
    socket.on('connect', () => socket.write('srvr'));
    socket.on('data', (piece: string) => {
      text += piece;
      // An answer is a few lines; whatever says more is something else.
      if (text.length > 16_384) end();
    });
    socket.on('error', end);
    socket.on('close', end);
  });
}

/** `Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on ...`, and `Mode: leader` */
export function readSrvr(text: string): {
  readonly version: string | undefined;
  readonly mode: string | undefined;
} {
  return {
    version: /^Zookeeper version: (\d+(?:\.\d+)*)/m.exec(text)?.[1],
    mode: /^Mode: (\w+)/m.exec(text)?.[1],
  };
}
