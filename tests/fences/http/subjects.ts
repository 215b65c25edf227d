import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import express from 'express';
import fastify, { type FastifyRequest } from 'fastify';
import { type Context, Hono } from 'hono';
import type { FencingToken } from '../../../src/fences/index.js';
import {
  expressFence,
  fastifyFence,
  fencingTokenOf,
  type HttpFenceOptions,
  type HttpFenceResource,
  honoFence,
  nodeFence,
} from '../../../src/http.js';

/** What came through to the service behind the fence. */
export interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly token: FencingToken | undefined;
}

/** The service: its text is the answer. */
export type Service = (arrival: Arrival) => string | Promise<string>;

/** As {@link HttpFenceOptions}, with the path of a request in place of a framework's request. */
export type SubjectOptions = Omit<HttpFenceOptions, 'resource' | 'onRefused'> & {
  readonly resource: HttpFenceResource<string>;
  readonly onRefused?: (status: number, path: string, cause: unknown) => void;
};

export interface Running {
  readonly url: string;
  close(): Promise<void>;
}

type Subject = (options: SubjectOptions, service: Service) => Promise<Running>;

/** The same service behind the fence of each framework. */
export const subjects: Record<string, Subject> = {
  'node:http': async (options, service) =>
    await listening(
      createServer(
        nodeFence(lift(options, pathOf), async (request, response) => {
          response.end(await service(await arrivalOf(request, fencingTokenOf(request))));
        }),
      ),
    ),

  Express: async (options, service) => {
    const app = express();
    app.use(expressFence<express.Request>(lift(options, (request) => request.path)));
    app.use(express.text({ type: () => true, limit: '10mb' }));
    app.all('/{*path}', async (request, response) => {
      const { method, path, body } = request;
      const token = fencingTokenOf(request);
      response.send(await service({ method, path, body: body ?? '', token }));
    });
    return await listening(createServer(app));
  },

  Fastify: async (options, service) => {
    const app = fastify({ bodyLimit: 10_000_000 });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body));
    const resourceOf = (request: FastifyRequest) => request.url;
    app.addHook('onRequest', fastifyFence<FastifyRequest>(lift(options, resourceOf)));
    app.all('/*', async (request) => {
      const { method, url: path } = request;
      const token = fencingTokenOf(request);
      return await service({ method, path, body: (request.body as string) ?? '', token });
    });
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() };
  },

  Hono: async (options, service) => {
    const app = new Hono();
    app.use(honoFence<Context>(lift(options, (context) => context.req.path)));
    app.all('*', async (context) => {
      const { method, path } = context.req;
      const body = await context.req.text();
      return context.text(await service({ method, path, body, token: fencingTokenOf(context) }));
    });
    const hostname = '127.0.0.1';
    return await new Promise((resolve) => {
      const server = serve({ fetch: app.fetch, port: 0, hostname }, () =>
        resolve(running(server as Server)),
      );
    });
  },
};

function lift<Request>(
  { resource, onRefused, ...options }: SubjectOptions,
  path: (request: Request) => string,
): HttpFenceOptions<Request> {
  return {
    ...options,
    ...(onRefused && {
      onRefused: ({ problem, request, cause }) => onRefused(problem.status, path(request), cause),
    }),
    resource: liftResource(resource, path),
  };
}

function liftResource<Request>(
  resource: HttpFenceResource<string>,
  path: (request: Request) => string,
): HttpFenceResource<Request> {
  if (typeof resource === 'string') return resource;
  if (typeof resource === 'function') return (request) => resource(path(request));
  return { accepts: (name, request) => resource.accepts(name, path(request)) };
}

function pathOf(request: IncomingMessage): string {
  return request.url ?? '';
}

async function arrivalOf(
  request: IncomingMessage,
  token: FencingToken | undefined,
): Promise<Arrival> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  return { method: request.method ?? '', path: pathOf(request), body, token };
}

export async function listening(server: Server): Promise<Running> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return running(server);
}

function running(server: Server): Running {
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, close };
}
