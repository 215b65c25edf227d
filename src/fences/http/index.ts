export {
  type FastifyLikeReply,
  type FastifyLikeRequest,
  fastifyFence,
} from './fastify.js';
export {
  type FencedFetch,
  type FencedRequestInit,
  fencedFetch,
  type RequestLease,
} from './fenced-fetch.js';
export { type HonoLikeContext, honoFence } from './hono.js';
export { expressFence, nodeFence } from './node.js';
export type { HttpFenceOptions, HttpFenceRefusal, HttpFenceResource } from './options.js';
export { type FencingProblem, problemOf } from './problems.js';
export { fencingTokenOf } from './tokens.js';
