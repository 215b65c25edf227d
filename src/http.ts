/**
 * An HTTP service as the fenced resource, and requests under a lease: `import { expressFence } from 'tenure/http'`. For
 * node:http, Express, Fastify and Hono, none of which it imports.
 */
export * from './fences/http/index.js';
