import { beforeEach, describe, expect, it } from 'vitest';
import { Outage } from '../../../src/cli/supervise/outage.js';
import { StoreRefusedError, UnreachableError } from '../../../src/errors/index.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';

const gone = new UnreachableError('acquire was not sent.');

let runtime: VirtualRuntime;
let over: AbortController;
let said: string[];
let answer: () => Promise<unknown>;
let outage: Outage;

beforeEach(() => {
  runtime = new VirtualRuntime();
  over = new AbortController();
  said = [];
  answer = () => Promise.reject(gone);
  const say = (text: string) => void said.push(text);
  const ask = () => answer();
  outage = new Outage({ runtime, voice: { say, sayOnce: say }, ask, signal: over.signal });
});

describe('of a store that cannot be reached', () => {
  it('is told when it answers again, once', async () => {
    outage.failed(gone, 'gone');
    await runtime.advance(10_000);
    expect(said).toEqual(['gone']);
    answer = () => Promise.resolve();
    await runtime.advance(10_000);
    expect(said).toEqual(['gone', 'the store answers again']);
  });

  it('nothing is told while what was to be done still fails', async () => {
    let reply = () => {};
    answer = () => new Promise<void>((resolve) => (reply = resolve));
    outage.failed(gone, 'gone');
    await runtime.advance(1_000);
    outage.failed(gone, 'gone still');
    reply();
    await runtime.advance(999);
    expect(said).toEqual(['gone', 'gone still']);
    await runtime.advance(1);
    reply();
    await runtime.advance(0);
    expect(said.at(-1)).toBe('the store answers again');
  });

  it('nothing is told after the end', async () => {
    outage.failed(gone, 'gone');
    over.abort();
    answer = () => Promise.resolve();
    await runtime.advance(10_000);
    expect(said).toEqual(['gone']);
  });
});

it('a store that refuses is there', async () => {
  answer = () => Promise.resolve();
  outage.failed(new StoreRefusedError('OOM', 'out of memory'), 'refused');
  await runtime.advance(10_000);
  expect(said).toEqual(['refused']);
});
