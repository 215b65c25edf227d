import type { IncomingMessage } from 'node:http';
import { Gate } from './admission.js';
import { admitNode } from './node.js';
import type { HttpFenceOptions } from './options.js';
import { rememberToken } from './tokens.js';

/** What the fence uses of a request of Fastify. */
export interface FastifyLikeRequest {
  readonly raw: IncomingMessage;
}

/** What the fence uses of a reply of Fastify. */
export interface FastifyLikeReply {
  code(status: number): unknown;
  headers(values: Record<string, string>): unknown;
  send(payload: string): unknown;
}

/**
 * The fence as an `onRequest` hook of Fastify, of an application, a plugin or a route:
 * `app.addHook('onRequest', fastifyFence(options))`. The body has not been read by then.
 *
 * @throws {OptionError} if an option is not usable.
 */
export function fastifyFence<Request extends FastifyLikeRequest = FastifyLikeRequest>(
  options: HttpFenceOptions<Request>,
): (request: Request, reply: FastifyLikeReply) => Promise<unknown> {
  const gate = new Gate(options);
  return async (request, reply) => {
    const admission = await admitNode(gate, request.raw, request);
    if (admission.answer === undefined) {
      rememberToken(admission.token, request, request.raw);
      return undefined;
    }
    const { status, headers, body } = admission.answer;
    reply.code(status);
    reply.headers(headers);
    reply.send(body);
    // The hook has answered: Fastify goes no further.
    return reply;
  };
}
