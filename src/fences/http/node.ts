import type { IncomingMessage, ServerResponse } from 'node:http';
import { requireFunction } from '../../errors/checks.js';
import { type Admission, type Answer, Gate } from './admission.js';
import type { HttpFenceOptions } from './options.js';
import { rememberToken } from './tokens.js';

/**
 * Puts the fence in front of a handler of `node:http`: `createServer(nodeFence(options, handler))`. The handler is
 * called for what is admitted, with an untouched body; everything else is answered here.
 *
 * @throws {OptionError} if an option is not usable.
 */
export function nodeFence<
  Request extends IncomingMessage = IncomingMessage,
  Response extends ServerResponse = ServerResponse,
>(
  options: HttpFenceOptions<Request>,
  handler: (request: Request, response: Response) => void | Promise<void>,
): (request: Request, response: Response) => void {
  requireFunction('handler', handler, 'pass nodeFence(options, (request, response) => { ... })');
  const fence = expressFence<Request, Response>(options);
  return (request, response) => {
    // As from `createServer` itself, what the handler rejects with is an unhandled rejection.
    fence(request, response, () => void handler(request, response));
  };
}

/**
 * The fence as a middleware of Express, or of whatever else calls `(request, response, next)`. Mount it after your
 * authentication and before the parser of bodies. `resource` sees `request.params` where it is mounted on a route.
 *
 * @throws {OptionError} if an option is not usable.
 */
export function expressFence<
  Request extends IncomingMessage = IncomingMessage,
  Response extends ServerResponse = ServerResponse,
>(
  options: HttpFenceOptions<Request>,
): (request: Request, response: Response, next: () => void) => void {
  const gate = new Gate(options);
  return (request, response, next) => {
    void admitNode(gate, request, request).then((admission) => {
      // Nobody waits any more, and a handler that listens for the end of the body would wait for ever.
      if (response.destroyed || response.writableEnded) return;
      if (admission.answer !== undefined) return send(response, admission.answer);
      rememberToken(admission.token, request);
      next();
    });
  };
}

/** @param message carries the headers; `request` is what the user's functions are given. */
export async function admitNode<Request>(
  gate: Gate<Request>,
  message: IncomingMessage,
  request: Request,
): Promise<Admission> {
  const header = (name: string) => {
    const value = message.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  return await gate.admit({ method: message.method ?? '', header, request });
}

/** Node reads the rest of the request by itself once it is answered, so the connection goes on. */
function send(response: ServerResponse, { status, headers, body }: Answer): void {
  if (response.headersSent) {
    // Somebody before the fence has begun an answer, which must not pass for one of the service.
    response.destroy();
    return;
  }
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
