import { once } from 'node:events';
import { Agent, createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  OutcomeUnknownError,
  StaleTermError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { FencingToken } from '../../../src/fences/index.js';
import { memoryFence } from '../../../src/fences/memory/index.js';
import { postgresFence } from '../../../src/fences/postgres/index.js';
import { nodeFence } from '../../../src/http.js';
import { headersFor, send } from './client.js';
import { type Arrival, type Running, type SubjectOptions, subjects } from './subjects.js';

const open: Running[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((running) => running.close()));
});

const now = Date.now();
const owner = tokenOf('ledger', now);
const successor = tokenOf('ledger', now + 1, 'successor');

/** A body of several packets. */
const longBody = 'x'.repeat(1_000_000);

describe.each(Object.entries(subjects))('the fence in front of %s', (_, subject) => {
  async function start(options: Partial<SubjectOptions> = {}) {
    const arrivals: Arrival[] = [];
    const fence = memoryFence();
    const service = (arrival: Arrival) => {
      arrivals.push(arrival);
      return 'done';
    };
    const running = await subject({ fence, resource: 'ledger', ...options }, service);
    open.push(running);
    return { url: `${running.url}/ledger`, base: running.url, arrivals, fence };
  }

  it('lets the owner through with an untouched body, and hands its token on', async () => {
    const { url, arrivals, fence } = await start();
    const reply = await send(url, { headers: headersFor(owner), body: longBody });
    expect([reply.status, reply.body]).toEqual([200, 'done']);
    expect(arrivals).toHaveLength(1);
    const { body, token } = arrivals[0] as Arrival;
    expect(body).toBe(longBody);
    expect([token?.name, token?.term]).toEqual(['ledger', owner.term]);
    expect(token?.holder.digest).toBe(owner.holder.digest);
    expect(await fence.installedTerm('ledger')).toBe(owner.term);
  });

  it('answers a lower term with 409 and what is installed, and goes on with the connection', async () => {
    const { url, arrivals } = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await send(url, { headers: headersFor(successor), agent });
    const reply = await send(url, { headers: headersFor(owner), body: longBody, agent });
    expect(reply.status).toBe(409);
    expect(reply.headers['content-type']).toMatch(/^application\/problem\+json\b/);
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(reply.problem).toEqual({
      type: 'urn:tenure:fencing:stale-term',
      title: 'A newer owner has been here',
      status: 409,
      detail: expect.stringContaining('is installed'),
      resource: 'ledger',
      term: owner.term,
      installedTerm: successor.term,
    });
    expect((await send(url, { headers: headersFor(successor), agent })).status).toBe(200);
    expect(arrivals.map(({ token }) => token?.term)).toEqual([successor.term, successor.term]);
    agent.destroy();
  });

  it('lets an equal term pass from the same holder alone', async () => {
    const { url } = await start();
    const other = tokenOf('ledger', owner.term, 'other');
    expect((await send(url, { headers: headersFor(owner) })).status).toBe(200);
    expect((await send(url, { headers: headersFor(owner) })).status).toBe(200);
    const reply = await send(url, { headers: headersFor(other) });
    expect([reply.status, reply.problem.installedTerm]).toEqual([409, owner.term]);
  });

  it('answers a request without the headers with 428', async () => {
    const { url, arrivals } = await start();
    const reply = await send(url, { body: longBody });
    expect(reply.status).toBe(428);
    expect(reply.problem.type).toBe('urn:tenure:fencing:token-required');
    expect(arrivals).toEqual([]);
  });

  it('lets one pass without a token if none is required, but never half a token', async () => {
    const { url, arrivals } = await start({ required: false });
    expect((await send(url)).status).toBe(200);
    expect(arrivals[0]?.token).toBeUndefined();
    for (const header of ['Fencing-Token', 'Fencing-Holder'])
      expect((await send(url, { headers: without(owner, header) })).status).toBe(400);
    expect((await send(url, { headers: { 'Fencing-Resource': 'ledger' } })).status).toBe(400);
    expect(arrivals).toHaveLength(1);
  });

  it.each([
    ['Fencing-Token', ['0', '-1', '+1', '01', '1.0', '1e3', '0x1', '', '1,', '9007199254740993']],
    [
      'Fencing-Token',
      ['8640000000000001', '99999999999999999999', '1 2', '\u00b9', [`${now}`, `${now}`]],
    ],
    ['Fencing-Holder', ['', 'a', 'A'.repeat(32), 'g'.repeat(32), 'a'.repeat(33), 'a'.repeat(1000)]],
    ['Fencing-Holder', [['a'.repeat(32), 'b'.repeat(32)], `${'a'.repeat(31)}\u00e9`]],
    [
      'Fencing-Resource',
      ['', '%', '%2', '%zz', '%ff', '%C3%28', '%00', '%0A', 'a//b', '..', 'a/../b'],
    ],
    [
      'Fencing-Resource',
      ['l\u00e9dger', 'a b', 'a,b', ['ledger', 'ledger'], 'x'.repeat(256), '%ED%A0%80'],
    ],
  ] as [string, (string | string[])[]][])(
    'answers a malformed %s with 400 (%#)',
    async (header, values) => {
      const { url, arrivals, fence } = await start({ resource: { accepts: () => true } });
      for (const value of values) {
        const headers = { ...headersFor(owner), [header]: value };
        const reply = await send(url, { headers });
        expect([value, reply.status]).toEqual([value, 400]);
        expect(reply.problem.type).toBe('urn:tenure:fencing:malformed-header');
        expect(reply.problem.detail).toContain(header);
      }
      expect(arrivals).toEqual([]);
      expect(await fence.installedTerm('ledger')).toBeUndefined();
    },
  );

  it('refuses a term far above its clock, which would lock out every later owner', async () => {
    const { url, fence } = await start({ maxTermAheadMs: 60_000 });
    for (const term of [8_640_000_000_000_000, Date.now() + 120_000]) {
      const reply = await send(url, { headers: headersFor(tokenOf('ledger', term)) });
      expect(reply.status).toBe(400);
      expect(reply.problem.type).toBe('urn:tenure:fencing:term-too-high');
    }
    expect(await fence.installedTerm('ledger')).toBeUndefined();
    const near = tokenOf('ledger', Date.now() + 30_000);
    expect((await send(url, { headers: headersFor(near) })).status).toBe(200);
  });

  it.each([
    ['whatever it is', { maxTermAheadMs: Number.POSITIVE_INFINITY }],
    ['whatever it is', { maxTerm: Number.POSITIVE_INFINITY }],
    ['up to a number', { maxTerm: 8_640_000_000_000_000 }],
    ['up to what is looked up', { maxTerm: async () => 8_640_000_000_000_000 }],
  ])('can be told that terms follow no clock: one is taken %s', async (_title, options) => {
    const { url } = await start(options);
    const high = tokenOf('ledger', 8_640_000_000_000_000);
    expect((await send(url, { headers: headersFor(high) })).status).toBe(200);
  });

  it('refuses the time for a term where terms count something else', async () => {
    for (const maxTerm of [1_000_000, async () => 1_000_000]) {
      const { url, fence } = await start({ maxTerm });
      const reply = await send(url, { headers: headersFor(tokenOf('ledger', Date.now())) });
      expect(reply.problem.type).toBe('urn:tenure:fencing:term-too-high');
      expect(await fence.installedTerm('ledger')).toBeUndefined();
      const low = headersFor(tokenOf('ledger', 1_000_000));
      expect((await send(url, { headers: low })).status).toBe(200);
    }
  });

  it('answers 503 if it cannot be looked up how high terms are', async () => {
    const { url } = await start({ maxTerm: () => Promise.reject(new Error('no answer')) });
    const reply = await send(url, { headers: headersFor(tokenOf('ledger', 5)) });
    expect(reply.status).toBe(503);
  });

  it('lets the server name the resource: a client can name no other one', async () => {
    const { url, fence } = await start();
    const reply = await send(url, { headers: headersFor(tokenOf('other', now)) });
    expect([reply.status, reply.problem.type]).toEqual([
      400,
      'urn:tenure:fencing:resource-not-accepted',
    ]);
    expect(await fence.installedTerm('other')).toBeUndefined();
    expect((await send(url, { headers: without(owner, 'Fencing-Resource') })).status).toBe(200);
    expect(await fence.installedTerm('ledger')).toBe(owner.term);
  });

  it('says that it names no resource for a request, whatever header the client might send', async () => {
    const { url } = await start({ resource: () => undefined });
    for (const headers of [without(owner, 'Fencing-Resource'), headersFor(owner)]) {
      const reply = await send(url, { headers: headers as Record<string, string> });
      expect([reply.status, reply.problem.detail]).toEqual([
        400,
        'The service names no resource for this request: nothing that a client sends can be accepted here.',
      ]);
    }
  });

  it('can take the resource from the request', async () => {
    const known = new Set(['/ledger', '/too-long']);
    const resource = async (path: string) =>
      known.has(path) ? path.slice(1).repeat(path === '/too-long' ? 99 : 1) : undefined;
    const names: string[] = [];
    const fence = { claim: async ({ name }: FencingToken) => void names.push(name) };
    const { base } = await start({ resource, fence });
    expect((await send(`${base}/ledger`, { headers: headersFor(owner) })).status).toBe(200);
    const unnamed = without(owner, 'Fencing-Resource');
    expect((await send(`${base}/unknown`, { headers: unnamed })).status).toBe(400);
    expect((await send(`${base}/too-long`, { headers: unnamed })).status).toBe(503);
    expect(names).toEqual(['ledger']);
  });

  it('can let the client name the resource, out of what the server accepts', async () => {
    const accepts = async (name: string, path: string) => path === '/ledger' && name === 'a/\u00e9';
    const { url, base, fence } = await start({ resource: { accepts } });
    const token = tokenOf('a/\u00e9', now);
    expect((await send(url, { headers: headersFor(token) })).status).toBe(200);
    expect(await fence.installedTerm('a/\u00e9')).toBe(now);
    expect((await send(`${base}/elsewhere`, { headers: headersFor(token) })).status).toBe(400);
    expect((await send(url, { headers: headersFor(owner) })).status).toBe(400);
    expect((await send(url, { headers: without(token, 'Fencing-Resource') })).status).toBe(400);
    expect(await fence.installedTerm('ledger')).toBeUndefined();
  });

  it('takes no answer but true for an acceptance', async () => {
    const accepts = (() => 'yes') as unknown as () => boolean;
    const { url } = await start({ resource: { accepts } });
    expect((await send(url, { headers: headersFor(owner) })).status).toBe(400);
  });

  it('fences the methods that are not known to be safe', async () => {
    const { url, arrivals } = await start();
    const statuses: Record<string, number> = {};
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])
      statuses[method] = (await send(url, { method })).status;
    expect(statuses).toMatchObject({ POST: 428, PUT: 428, PATCH: 428, DELETE: 428 });
    expect([statuses.GET, statuses.OPTIONS]).toEqual([200, 200]);
    expect(statuses.HEAD).toBe(200);
    expect(arrivals.every(({ token }) => token === undefined)).toBe(true);
  });

  it('fences the methods it is told to', async () => {
    const all = await start({ methods: 'all' });
    const head = await send(all.url, { method: 'HEAD' });
    expect([head.status, head.body]).toEqual([428, '']);
    expect((await send(all.url, { method: 'GET' })).status).toBe(428);
    const some = await start({ methods: ['DELETE'] });
    expect((await send(some.url)).status).toBe(200);
    expect((await send(some.url, { method: 'DELETE' })).status).toBe(428);
  });

  it('answers 503 when the store cannot be reached, and nothing is done', async () => {
    const fence = postgresFence('postgres://nobody:secret@127.0.0.1:1/none');
    const refusals: unknown[] = [];
    const { url, arrivals } = await start({
      fence,
      retryAfterMs: 2_500,
      onRefused: (status, path, cause) => refusals.push([status, path, cause]),
    });
    const reply = await send(url, { headers: headersFor(owner) });
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, '3']);
    expect(reply.problem.type).toBe('urn:tenure:fencing:store-unavailable');
    expect(reply.body).not.toMatch(/secret|127\.0\.0\.1/);
    expect(arrivals).toEqual([]);
    expect(refusals).toEqual([[503, '/ledger', expect.any(UnreachableError)]]);
    await fence.close();
  });

  it('tells in one process warning that its store cannot be asked, if nobody listens', async () => {
    const heard: string[] = [];
    const hear = ({ name, message }: Error) => void heard.push(`${name}: ${message}`);
    process.on('warning', hear);
    const broken = async () => {
      throw new UnreachableError('the claim failed: postgres://ann:secret@db is away.');
    };
    const { url } = await start({ fence: { claim: broken } });
    const listened = await start({ fence: { claim: broken }, onRefused: () => {} });
    await send(listened.url, { headers: headersFor(owner) });
    await send(url);
    expect(heard).toEqual([]);
    for (let count = 0; count < 2; count++) {
      const { status } = await send(url, { headers: headersFor(owner) });
      expect(status).toBe(503);
    }
    await expect.poll(() => heard).toHaveLength(1);
    process.removeListener('warning', hear);
    expect(heard[0]).toMatch(/^TenureStoreWarning: the HTTP fence answered a request with 503: /);
    expect(heard[0]).toContain('is away. It does so until that is mended');
    expect(heard[0]).toContain('pass onRefused');
    expect(heard[0]).not.toContain('secret');
  });

  it('tells of a resource that is not a text as that', async () => {
    const causes: unknown[] = [];
    const { url } = await start({
      resource: () => 5 as never,
      onRefused: (_: number, __: string, cause: unknown) => causes.push(cause),
    });
    expect((await send(url, { headers: headersFor(owner) })).status).toBe(503);
    expect(String(causes[0])).toContain('resource is not a text (got 5)');
  });

  it('answers as ever if onRefused throws, of which a warning tells by that name', async () => {
    const { url } = await start({
      fence: memoryFence(),
      onRefused: () => {
        throw new Error('a bug in a logger');
      },
    });
    const warned = once(process, 'warning');
    expect((await send(url)).status).toBe(428);
    expect((await warned)[0]).toMatchObject({
      name: 'TenureListenerWarning',
      message: expect.stringMatching(
        /^a listener for "onRefused" failed: Error: a bug in a logger/,
      ),
    });
  });

  it('answers 503 when the store does not answer in time, or breaks its contract', async () => {
    const causes: unknown[] = [];
    const onRefused = (_: number, __: string, cause: unknown) => causes.push(cause);
    const hung = await start({
      fence: { claim: () => new Promise(() => {}) },
      timeoutMs: 20,
      onRefused,
    });
    expect((await send(hung.url, { headers: headersFor(owner) })).status).toBe(503);
    const broken = (() => {
      throw new Error('no');
    }) as () => Promise<void>;
    const failing = await start({ fence: { claim: broken }, onRefused });
    expect((await send(failing.url, { headers: headersFor(owner) })).status).toBe(503);
    expect(causes).toEqual([expect.any(OutcomeUnknownError), new Error('no')]);
    expect([...hung.arrivals, ...failing.arrivals]).toEqual([]);
  });

  it('admits only: a request that is overtaken after it is refused by the fence of its write', async () => {
    const fence = memoryFence();
    const outcomes: unknown[] = [];
    const running = await subject({ fence, resource: 'ledger' }, async ({ token, body }) => {
      // The service is frozen here; meanwhile the next owner arrives.
      if (body === 'slow') await fence.claim(successor);
      const write = fence.transaction(token as FencingToken, async (open) => open.set('who', body));
      outcomes.push(await write.catch((error: unknown) => error));
      return 'done';
    });
    open.push(running);
    await send(running.url, { headers: headersFor(owner), body: 'fast' });
    await send(running.url, { headers: headersFor(owner), body: 'slow' });
    expect(outcomes).toEqual([undefined, expect.any(StaleTermError)]);
    expect(fence.resource.read('who')).toBe('fast');
  });
});

describe.each(['node:http', 'Express'] as const)('a client of %s that has gone', (name) => {
  it('while the fence was asked is not served, since nobody would see the end of its body', async () => {
    let ask = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    let grant = () => {};
    const granted = new Promise<void>((resolve) => {
      grant = resolve;
    });
    const slow = async () => {
      ask();
      await granted;
    };
    let count = 0;
    const subject = subjects[name] as (typeof subjects)[string];
    // Only the first claim is slow.
    const fence = { claim: async () => await (count++ === 0 ? slow() : undefined) };
    const arrivals: string[] = [];
    const running = await subject({ fence, resource: 'ledger' }, ({ path }) => {
      arrivals.push(path);
      return 'done';
    });
    open.push(running);
    const agent = new Agent();
    const gone = send(`${running.url}/gone`, { headers: headersFor(owner), agent });
    await asked;
    agent.destroy();
    await expect(gone).rejects.toThrow('socket hang up');
    // The server hears of it before the next connection is answered.
    await send(`${running.url}/next`, { headers: headersFor(owner) });
    grant();
    await send(`${running.url}/last`, { headers: headersFor(owner) });
    expect(arrivals).toEqual(['/next', '/last']);
  });
});

describe('an answer that somebody before the fence has begun', () => {
  const run = async (begin: (response: ServerResponse) => void, token: FencingToken) => {
    const fence = memoryFence();
    await fence.claim(tokenOf('ledger', 6));
    let isServed = false;
    const guarded = nodeFence({ fence, resource: 'ledger' }, (_request, response) => {
      isServed = true;
      response.end('rest');
    });
    const server = createServer((request, response) => {
      begin(response);
      guarded(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    open.push({ url, close: async () => void server.close() });
    const reply = fetch(url, { method: 'POST', headers: headersFor(token) });
    const text = await reply.then((response) => response.text()).catch(() => 'broken off');
    return { text, isServed };
  };
  const begun = (response: ServerResponse) => void response.write('begun ');

  it('goes on if the request is admitted', async () => {
    expect(await run(begun, tokenOf('ledger', 7))).toEqual({ text: 'begun rest', isServed: true });
  });

  it('is broken off if it is refused, and the process lives', async () => {
    const refused = await run(begun, tokenOf('ledger', 5));
    expect(refused).toEqual({ text: 'broken off', isServed: false });
  });

  it('stays as it is if it was finished', async () => {
    const finished = await run((response) => void response.end('timed out'), tokenOf('ledger', 7));
    expect(finished).toEqual({ text: 'timed out', isServed: false });
  });
});

function without(token: FencingToken, header: string): Record<string, string> {
  const { [header]: _left, ...headers } = headersFor(token);
  return headers;
}
