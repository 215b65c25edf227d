import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { EtcdClient, etcdLocation } from '../../../src/drivers/etcd/index.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';

/** `silent`: takes connections and never answers, as a frozen process does. */
type Manner = 'answers' | 'has no leader' | 'silent';

const noLeader = { error: 'etcdserver: no leader', code: 14 };
const reply = { header: { revision: '7' }, succeeded: true, responses: [{ response_range: {} }] };
const get = { kind: 'get', range: { key: 'key' } } as const;

/** Three members, and a client whose time passes only while it waits for one that is silent. */
class Stage {
  readonly manners = new Map<string, Manner>();
  readonly #runtime = new VirtualRuntime();
  readonly #servers: Server[] = [];
  #client: EtcdClient | undefined;
  #asked: string[] = [];
  #onSilence: () => void = () => {};

  static async open(): Promise<Stage> {
    const stage = new Stage();
    const hosts: string[] = [];
    for (const name of ['F', 'G', 'H']) hosts.push(await stage.#member(name));
    const location = etcdLocation(`etcd://${hosts.join(',')}`, undefined);
    const runtime = stage.#runtime;
    stage.#client = new EtcdClient({ what: 'the client', location, runtime });
    return stage;
  }

  /** A call of 900 ms. @returns whom it asked, and how long that took. */
  async call(): Promise<string> {
    this.#asked = [];
    const client = this.#client as EtcdClient;
    const startedMs = this.#runtime.now().monotonicMs;
    this.#onSilence = () => void this.#runtime.advance(300);
    const reading = client.read([get], 'a test', client.deadline(900));
    const outcome = await reading.then(
      () => 'answered',
      () => 'failed',
    );
    const tookMs = this.#runtime.now().monotonicMs - startedMs;
    return `${this.#asked.join(' ')}: ${outcome} after ${tookMs} ms`;
  }

  close(): void {
    this.#client?.close();
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
  }

  async #member(name: string): Promise<string> {
    const server = createServer((request, response) => {
      const manner = this.manners.get(name) ?? 'answers';
      if (this.#asked.at(-1) !== name) this.#asked.push(name);
      if (manner === 'silent') {
        this.#onSilence();
        return;
      }
      if (request.url === '/version') response.end('{"etcdserver":"3.5.28"}');
      else response.end(JSON.stringify(manner === 'answers' ? reply : noLeader));
    });
    this.#servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
}

const open: Stage[] = [];

afterEach(() => {
  for (const stage of open.splice(0)) stage.close();
});

async function staged(manners: Readonly<Record<string, Manner>>): Promise<Stage> {
  const stage = await Stage.open();
  open.push(stage);
  expect(await stage.call()).toBe('F: answered after 0 ms');
  for (const [name, manner] of Object.entries(manners)) stage.manners.set(name, manner);
  return stage;
}

describe('the members of a cluster whose leader, asked first, is frozen', () => {
  it('are asked before it from then on, also when they have answered that there is no leader', async () => {
    const stage = await staged({ F: 'silent', G: 'has no leader', H: 'has no leader' });
    expect(await stage.call()).toBe('F G H: failed after 300 ms');
    // It costs its share, and not what the others left.
    expect(await stage.call()).toBe('G H F: failed after 300 ms');
    expect(await stage.call()).toBe('G H F: failed after 300 ms');
    stage.manners.set('G', 'answers');
    expect(await stage.call(), 'they have elected one').toBe('G: answered after 0 ms');
  });

  it('begin the next call, whichever of them it is, when all were silent', async () => {
    const stage = await staged({ F: 'silent', G: 'silent', H: 'silent' });
    expect(await stage.call()).toBe('F G H: failed after 900 ms');
    expect(await stage.call()).toBe('G H F: failed after 900 ms');
    expect(await stage.call()).toBe('H F G: failed after 900 ms');
    expect(await stage.call()).toBe('F G H: failed after 900 ms');
    stage.manners.set('G', 'answers');
    expect(await stage.call(), 'they have elected one').toBe('G: answered after 0 ms');
    expect(await stage.call()).toBe('G: answered after 0 ms');
  });

  it('are asked after it again once it answers and they do not', async () => {
    const stage = await staged({ F: 'silent' });
    expect(await stage.call()).toBe('F G: answered after 300 ms');
    for (const one of ['G', 'H']) stage.manners.set(one, 'has no leader');
    expect(await stage.call()).toBe('G H F: failed after 300 ms');
    stage.manners.set('F', 'answers');
    expect(await stage.call()).toBe('G H F: answered after 0 ms');
    expect(await stage.call()).toBe('F: answered after 0 ms');
  });
});
