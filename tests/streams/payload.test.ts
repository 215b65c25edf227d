import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/errors/index.js';
import { MemoryStreams, memoryStreams } from '../../src/streams/memory/index.js';
import { encodeMessage } from '../../src/streams/outgoing.js';
import { Topic } from '../../src/streams/topic.js';

const encode = (payload: unknown) => encodeMessage({ key: 'k', id: '1', payload }, 1_000).payload;
const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

describe('a payload', () => {
  it.each<[string, unknown, RegExp]>([
    ['undefined', undefined, /no JSON form/],
    ['NaN', Number.NaN, /holds NaN/],
    ['Infinity', Number.POSITIVE_INFINITY, /holds Infinity/],
    ['a nested NaN', { order: { total: Number.NaN } }, /holds NaN at "total"/],
    ['a nested -Infinity', [1, [Number.NEGATIVE_INFINITY]], /holds -Infinity at "0"/],
    ['a boxed NaN', { total: Object(Number.NaN) }, /holds NaN at "total"/],
    ['a function', () => 1, /holds a function/],
    ['a nested function', { run: () => 1 }, /holds a function at "run"/],
    ['a symbol', Symbol('s'), /holds a symbol/],
    ['a nested symbol', [Symbol('s')], /holds a symbol at "0"/],
    ['a bigint', 1n, /holds a BigInt/],
    ['a nested bigint', { total: { cents: 1n } }, /holds a BigInt at "cents"/],
    ['a Map', new Map([['a', 1]]), /holds a Map/],
    ['a nested Set', { tags: new Set(['a']) }, /holds a Set at "tags"/],
    ['a nested Map in a list', [{ m: new Map() }], /holds a Map at "m"/],
    ['a regular expression', { pattern: /a/ }, /holds a RegExp at "pattern"/],
    ['an error', { cause: new Error('x') }, /holds an Error at "cause"/],
    ['a promise', { later: Promise.resolve(1) }, /holds a Promise at "later"/],
    ['bytes', { bytes: new Uint8Array(2) }, /holds a Uint8Array at "bytes"/],
    ['a date that is none', { at: new Date(Number.NaN) }, /holds an invalid Date at "at"/],
    ['undefined in a list', [1, undefined], /holds undefined at "1"/],
    ['a hole in a list', new Array(1), /holds undefined at "0"/],
    ['a cycle', cyclic, /cycle/],
    [
      'a toJSON that throws',
      {
        toJSON() {
          throw new Error('no');
        },
      },
      /toJSON that throws/,
    ],
  ])('that is or holds %s is refused, not changed', async (_what, payload, problem) => {
    const state = new MemoryStreams();
    const topic = new Topic(memoryStreams(state), { shardCount: 1 });
    const failed = await topic
      .publishMany([
        { key: 'k', id: '1', payload: 1 },
        { key: 'k', id: '2', payload },
      ])
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(OptionError);
    expect(failed).toMatchObject({ option: 'payload', message: expect.stringMatching(problem) });
    expect((failed as OptionError).remedy).toContain('plain data');
    expect((await topic.backlog()).count).toBe(0);
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'null'],
    ['a text', 'a', '"a"'],
    ['nested plain data', { a: [1, { b: null }, true] }, '{"a":[1,{"b":null},true]}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['a Date, by its toJSON', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['a property that is undefined', { a: 1, b: undefined }, '{"a":1}'],
    ['-0', [-0], '[0]'],
  ])('that is %s is published', (_what, payload, text) => {
    expect(encode(payload)).toBe(text);
  });
});
