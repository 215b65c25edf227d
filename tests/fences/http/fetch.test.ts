import { getEventListeners } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import {
  OptionError,
  OutcomeUnknownError,
  StaleTermError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import { memoryFence } from '../../../src/fences/memory/index.js';
import { expressFence, fencedFetch } from '../../../src/http.js';
import {
  type Lease,
  LeaseEndedError,
  LeaseNotHeldError,
  Leases,
} from '../../../src/leases/index.js';
import { notApplied, Once } from '../../../src/once/index.js';
import { memoryOnce } from '../../../src/once/memory/index.js';
import { listening, type Running } from './subjects.js';

const open: Running[] = [];
let leases: Leases;
let lease: Lease;

beforeEach(async () => {
  leases = new Leases(memoryCoordinator());
  lease = (await leases.acquire('ledger/acmé')) as Lease;
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((running) => running.close()));
  await leases.close();
});

async function serve(listener: RequestListener): Promise<string> {
  const running = await listening(createServer(listener));
  open.push(running);
  return running.url;
}

/** What a server sees of the fence's headers. */
async function echo(): Promise<string> {
  return await serve((request, response) => {
    const { method, url, headers } = request;
    response.end(JSON.stringify({ method, url, headers }));
  });
}

async function seen(response: Response) {
  return (await response.json()) as { method: string; headers: Record<string, string> };
}

/** How many listeners everything in this file has left on the lease. */
function listeners(): number {
  return getEventListeners(lease.signal, 'abort').length;
}

describe('fencedFetch', () => {
  it('sends the term, the digest and the name of its lease, beside your own headers', async () => {
    const response = await fencedFetch(lease)(await echo(), {
      method: 'PUT',
      headers: { 'X-Own': 'kept', 'fencing-token': '99' },
      body: 'text',
    });
    const { method, headers } = await seen(response);
    expect(method).toBe('PUT');
    expect(headers).toMatchObject({
      'fencing-token': String(lease.term),
      'fencing-holder': lease.holder.digest,
      'fencing-resource': 'ledger%2Facm%C3%A9',
      'x-own': 'kept',
    });
    expect(headers['idempotency-key']).toBeUndefined();
  });

  it('takes a Request, and sends an idempotency key', async () => {
    const request = new Request(await echo(), { method: 'POST', body: 'text' });
    const response = await fencedFetch(lease)(request, { idempotencyKey: 'settle-2026-11-30' });
    const { method, headers } = await seen(response);
    expect([method, headers['idempotency-key']]).toEqual(['POST', 'settle-2026-11-30']);
  });

  it.each(['', 'a b', 'a\nb', 'é', 'x'.repeat(256), 7])('refuses %j as a key', async (key) => {
    const sent = fencedFetch(lease)(await echo(), { idempotencyKey: key as string });
    await expect(sent).rejects.toThrow(OptionError);
  });

  it.each([
    [{ idempotencykey: 'a' }, 'init.idempotencykey is no option', 'did you mean idempotencyKey?'],
    [{ methd: 'POST' }, 'init.methd is no option', 'did you mean method?'],
    [null, 'init is not an object', 'pass an object'],
  ])('sends nothing with options like %j', async (init, problem, remedy) => {
    const sent = fencedFetch(lease)(await echo(), init as never);
    await expect(sent).rejects.toThrow(problem);
    await expect(sent).rejects.toThrow(remedy);
    await expect(sent).rejects.toThrow(OptionError);
  });

  it('passes on what only another fetch knows', async () => {
    let passed: Request | undefined;
    const send = fencedFetch(lease, async (request) => {
      passed = request;
      return new Response();
    });
    await send('http://ledger/', { next: { revalidate: 60 } } as never);
    expect(passed?.url).toBe('http://ledger/');
  });

  it.each([
    ['/relative', {}, 'has a URL'],
    ['http://ann:secret@ledger/', {}, 'has a URL'],
    ['http://ledger/', { headers: { token: 'secret\n\0' } }, 'has a header'],
    ['http://ledger/', { body: 'x' }, 'cannot be made: '],
  ])(
    'refuses what no request can be made of, and tells no secret: %s %j',
    async (url, init, problem) => {
      const error: unknown = await fencedFetch(lease)(url, init).catch((reason) => reason);
      expect(error).toBeInstanceOf(OptionError);
      expect(String(error)).toContain(`request ${problem}`);
      expect(String(error)).not.toContain('secret');
    },
  );

  it.each([
    'htp://x',
    'ftp://ledger/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'blob:nodedata:a',
  ])('refuses %s, before anything is sent or any fetch is called', async (url) => {
    let calls = 0;
    const careless = async () => new Response(String(++calls));
    const error = await fencedFetch(lease, careless)(url).catch((reason) => reason);
    expect(error).toBeInstanceOf(OptionError);
    expect(error.message).toBe(
      `request has a URL that begins with "${new URL(url).protocol}": use one of http: or https:`,
    );
    expect(calls).toBe(0);
  });

  it('says so to an effect of once, which leaves its key free by that', async () => {
    const once = new Once(memoryOnce());
    const effect = (wrong: string) => () =>
      fencedFetch(lease)(wrong, { method: 'POST' }).catch((error) => {
        throw error instanceof OptionError ? notApplied(error) : error;
      });
    await expect(once.do('charge', effect('htp://x'))).rejects.toThrow('begins with "htp:"');
    expect(await once.read('charge')).toMatchObject({ state: 'free' });
    await once.close();
  });

  it('refuses a body that was read before, a bad method and a bad dispatcher', async () => {
    const used = new Request('http://ledger/', { method: 'POST', body: 'text' });
    await used.text();
    await expect(fencedFetch(lease)(used)).rejects.toThrow(OptionError);
    const locked = new Blob(['text']).stream();
    locked.getReader();
    for (const init of [
      { method: 'POST', body: locked, duplex: 'half' },
      { method: 'CONNECT' },
      { method: 'P T' },
      { dispatcher: {} },
    ])
      await expect(fencedFetch(lease)('http://ledger/', init as never)).rejects.toThrow(
        OptionError,
      );
  });

  it.each([
    // Not `connection`: newer Nodes send that one.
    ['transfer-encoding', 'secret'],
    ['keep-alive', '1'],
    ['upgrade', 'secret'],
    ['expect', '100-continue'],
    ['content-length', 'secret'],
  ])(
    'tells of the header %s, which fetch does not send, that nothing was sent',
    async (name, value) => {
      let requests = 0;
      const url = await serve((_, response) => void response.end(String(++requests)));
      const init = { method: 'POST', headers: { [name]: value } };
      const error: unknown = await fencedFetch(lease)(url, init).catch((reason) => reason);
      expect(error).toBeInstanceOf(OptionError);
      expect(String(error)).toContain(`that fetch does not send (${name})`);
      expect(String(error)).not.toContain('secret');
      expect(requests).toBe(0);
    },
  );

  it('tells of a promise in place of a lease that it has to be awaited', async () => {
    const acquiring = leases.acquire('another');
    expect(() => fencedFetch(acquiring as never)).toThrow('lease is a promise: await it first');
    await acquiring;
  });

  it('refuses what is no lease and no fetch', () => {
    expect(() => fencedFetch({} as Lease)).toThrow(OptionError);
    expect(() => fencedFetch(lease, 'fetch' as never)).toThrow(OptionError);
  });

  it('sends nothing once the lease is not held', async () => {
    let requests = 0;
    const url = await serve((_, response) => void response.end(String(++requests)));
    const send = fencedFetch(lease);
    expect(await (await send(url)).text()).toBe('1');
    await lease.release();
    await expect(send(url)).rejects.toThrow(LeaseNotHeldError);
    expect(requests).toBe(1);
  });

  it('turns the refusal of a fence into StaleTermError, and the lease is over', async () => {
    const fence = memoryFence();
    const gate = expressFence({ fence, resource: lease.name });
    const url = await serve((request, response) => {
      gate(request, response, () => void response.end('done'));
    });
    const send = fencedFetch(lease);
    expect((await send(url, { method: 'POST' })).status).toBe(200);
    await fence.claim(tokenOf(lease.name, lease.term + 5, 'successor'));
    const { signal } = new AbortController();
    const sent = send(url, { method: 'POST', signal });
    const error: StaleTermError = await sent.catch((error) => error);
    expect(error).toBeInstanceOf(StaleTermError);
    expect([error.resource, error.term]).toEqual([lease.name, lease.term]);
    expect(error.installedTerm).toBe(lease.term + 5);
    expect([lease.state, lease.endReason]).toEqual(['lost', 'superseded']);
    expect(lease.installedTerm).toBe(lease.term + 5);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('keeps no term of a service that no store can have granted', async () => {
    const { term } = lease;
    const installedTerm = 8_639_999_999_999_999;
    const url = await serve((_, response) => {
      response
        .writeHead(409, { 'content-type': 'application/problem+json' })
        .end(JSON.stringify({ type: 'urn:tenure:fencing:stale-term', term, installedTerm }));
    });
    const sent = fencedFetch(lease)(url, { method: 'POST' });
    await expect(sent).rejects.toMatchObject({ code: 'TENURE_STALE_TERM', installedTerm });
    expect([lease.endReason, lease.installedTerm]).toEqual(['superseded', undefined]);
  });

  it.each([
    ['is plain JSON', 'application/json', {}],
    ['is of another type', 'application/problem+json', { type: 'urn:other' }],
    ['is about another term', 'application/problem+json', { term: 1 }],
    ['tells no installed term', 'application/problem+json', { installedTerm: 'many' }],
    ['tells a lower installed term', 'application/problem+json', { installedTerm: 1 }],
    ['is longer than a problem', 'application/problem+json', { detail: 'x'.repeat(20_000) }],
  ])('hands on a 409 that %s, with its body', async (_, contentType, difference) => {
    const { term } = lease;
    const document = { type: 'urn:tenure:fencing:stale-term', term, installedTerm: term + 1 };
    const body = JSON.stringify({ ...document, ...difference });
    const url = await serve((_, response) => {
      response.writeHead(409, { 'content-type': contentType }).end(body);
    });
    const response = await fencedFetch(lease)(url, { method: 'POST' });
    expect([response.status, response.url]).toEqual([409, `${url}/`]);
    expect(await response.text()).toBe(body);
    expect(lease.state).toBe('held');
  });

  it('does not follow a redirect, so that nobody else sees the headers', async () => {
    let strangers = 0;
    const stranger = await serve((_, response) => void response.end(String(++strangers)));
    const url = await serve((_, response) => {
      response.writeHead(307, { location: stranger }).end();
    });
    const response = await fencedFetch(lease)(url, { method: 'POST', redirect: 'follow' });
    expect([response.status, response.headers.get('location')]).toEqual([307, stranger]);
    const erring = fencedFetch(lease)(url, { method: 'POST', redirect: 'error' });
    await expect(erring).rejects.toThrow(OutcomeUnknownError);
    expect(strangers).toBe(0);
  });

  it('says "unreachable" if no connection was made', async () => {
    const tcp = createTcpServer();
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
    const { port } = tcp.address() as { port: number };
    await new Promise((resolve) => tcp.close(resolve));
    for (const host of ['127.0.0.1', 'localhost']) {
      const sent = fencedFetch(lease)(`http://${host}:${port}/?a=secret`, { method: 'POST' });
      await expect(sent).rejects.toThrow(UnreachableError);
      await expect(sent).rejects.toThrow(
        `at ${host}:${port} could not be reached; nothing was sent`,
      );
      await expect(sent).rejects.toThrow('nothing listens there (ECONNREFUSED)');
      await expect(sent).rejects.toThrow(/^(?!.*secret)/);
    }
    const nowhere = fencedFetch(lease)('http://nowhere.invalid/', { method: 'POST' });
    await expect(nowhere).rejects.toThrow(UnreachableError);
    await expect(nowhere).rejects.toThrow(
      /at nowhere\.invalid could not be reached.* \(E[A-Z_]+\)/,
    );
    expect(lease.state).toBe('held');
  });

  it('refuses a port that the Fetch standard forbids', async () => {
    const sent = fencedFetch(lease)('http://127.0.0.1:1');
    await expect(sent).rejects.toThrow(OptionError);
    await expect(sent).rejects.toThrow('has a port that fetch never asks');
  });

  it('says "unreachable" of several addresses only if no connection was made to any', async () => {
    const refused = Object.assign(new Error('refused'), { syscall: 'connect' });
    const reset = Object.assign(new Error('reset'), { syscall: 'read' });
    const failing = (...errors: Error[]) =>
      fencedFetch(lease, async () => {
        throw new TypeError('fetch failed', { cause: new AggregateError(errors) });
      })('http://ledger/');
    await expect(failing(refused, refused)).rejects.toThrow(UnreachableError);
    await expect(failing(refused, reset)).rejects.toThrow(OutcomeUnknownError);
    await expect(failing()).rejects.toThrow(OutcomeUnknownError);
  });

  it('says "outcome unknown" if the connection fails after that', async () => {
    const url = await serve((request) => void request.socket.destroy());
    const sent = fencedFetch(lease)(url, { method: 'POST', body: 'text' });
    await expect(sent).rejects.toThrow(OutcomeUnknownError);
    expect(lease.state).toBe('held');
  });

  it('says "outcome unknown" if the lease ends before the answer comes', async () => {
    const url = await serve(() => lease.supersede());
    const sent = fencedFetch(lease)(url, { method: 'POST' });
    await expect(sent).rejects.toThrow(OutcomeUnknownError);
    await expect(sent).rejects.toHaveProperty('cause', expect.any(LeaseEndedError));
  });

  it('rejects with your own reason if your own signal aborts, also that of a Request', async () => {
    const reason = new Error('mine');
    let stop = new AbortController();
    const url = await serve(() => stop.abort(reason));
    await expect(fencedFetch(lease)(url, { signal: stop.signal })).rejects.toBe(reason);
    await expect(fencedFetch(lease)(url, { signal: stop.signal })).rejects.toBe(reason);
    stop = new AbortController();
    const request = new Request(url, { signal: stop.signal });
    await expect(fencedFetch(lease)(request)).rejects.toBe(reason);
    expect(listeners()).toBe(0);
  });

  it('sends nothing if your own signal has aborted before', async () => {
    const reason = new Error('mine');
    let calls = 0;
    const careless = async () => new Response(String(++calls));
    const sent = fencedFetch(lease, careless)('http://ledger/', {
      signal: AbortSignal.abort(reason),
    });
    await expect(sent).rejects.toBe(reason);
    expect(calls).toBe(0);
  });

  it('sends a body that is a stream', async () => {
    const url = await serve((request, response) => void request.pipe(response));
    const body = new Blob(['a', 'b', 'c']).stream();
    const response = await fencedFetch(lease)(url, { method: 'POST', body, duplex: 'half' });
    expect(await response.text()).toBe('abc');
  });

  it('aborts the reading of a body when the lease ends', async () => {
    const url = await serve((_, response) => void response.writeHead(200).write('begin'));
    const response = await fencedFetch(lease)(url);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(Buffer.from((await reader.read()).value as Uint8Array).toString()).toBe('begin');
    const rest = reader.read();
    lease.supersede();
    await expect(rest).rejects.toThrow(LeaseEndedError);
  });

  it('hands out a body that can be read with a buffer of your own', async () => {
    const url = await serve((_, response) => void response.end('0123456789'));
    const response = await fencedFetch(lease)(url);
    const reader = (response.body as ReadableStream).getReader({ mode: 'byob' });
    let text = '';
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(4));
      if (done) break;
      text += Buffer.from(value).toString();
    }
    expect(text).toBe('0123456789');
  });

  it('leaves nothing behind on the signals of the lease and of the caller', async () => {
    const url = await serve((request, response) => answer(request.url ?? '', response));
    const stop = new AbortController();
    const send = fencedFetch(lease);
    const init = { method: 'POST', signal: stop.signal };
    const responses = await Promise.all(
      Array.from({ length: 30 }, () => send(`${url}/body`, init)),
    );
    expect(listeners()).toBe(1);
    await Promise.all(responses.map((response) => response.text()));
    await send(`${url}/empty`, init);
    await (await send(`${url}/body`, init)).body?.cancel();
    await expect(send(`${url}/reset`, init)).rejects.toThrow(OutcomeUnknownError);
    await expect((await send(`${url}/torn`, init)).text()).rejects.toThrow();
    expect(listeners()).toBe(0);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });
});

function answer(path: string, response: ServerResponse): void {
  if (path === '/empty') response.writeHead(204).end();
  else if (path === '/reset') (response.socket as Socket).destroy();
  else if (path === '/torn') {
    response.writeHead(200, { 'content-length': '10' });
    response.write('five!', () => void (response.socket as Socket).destroy());
  } else response.end('a body');
}
