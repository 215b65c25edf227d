import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError, RecordCorruptError } from '../../src/errors/index.js';
import { extraShardLimit, PinTable, pinLimit, shardOf } from '../../src/shards/index.js';
import { formatPins, parsePins } from '../../src/shards/pin-document.js';

const key = 'customer-42';
const home = shardOf(key);

const parse = (text: string) => parsePins('fleet/pins', { version: 3, text }, 256);
const entry = (...parts: unknown[]) =>
  JSON.stringify({ format: 1, shardCount: 256, pins: [parts] });

describe('a table of pins', () => {
  it('is looked up before the hash', () => {
    const table = new PinTable(256, 1, [[key, { state: 'pinned', shard: 300 }]]);
    expect(table.shardOf(key)).toBe(300);
    expect(table.shardOf('customer-1')).toBe(shardOf('customer-1'));
    expect(table.lookup('customer-1')).toBeUndefined();
    expect(table.extraShards).toEqual([300]);
  });

  it('keeps a key where it is until its move is finished', () => {
    const moving = new PinTable(256).beginMove(key, 256);
    expect(moving.lookup(key)).toEqual({ state: 'moving', from: home, to: 256 });
    expect(moving.shardOf(key)).toBe(home);
    expect(moving.extraShards).toEqual([256]);
    const pinned = moving.finishMove(key, 256);
    expect(pinned.lookup(key)).toEqual({ state: 'pinned', shard: 256 });
    expect(pinned.shardOf(key)).toBe(256);
  });

  it('takes a pin away by a move to the hashed shard', () => {
    const pinned = new PinTable(256).beginMove(key, 256).finishMove(key, 256);
    const moving = pinned.beginMove(key, home);
    expect(moving.extraShards).toEqual([256]);
    const unpinned = moving.finishMove(key, home);
    expect(unpinned.lookup(key)).toBeUndefined();
    expect(unpinned.size).toBe(0);
    expect(unpinned.extraShards).toEqual([]);
  });

  it('is the same table after a step that is repeated or leads nowhere', () => {
    const moving = new PinTable(256).beginMove(key, 256);
    expect(moving.beginMove(key, 256)).toBe(moving);
    const pinned = moving.finishMove(key, 256);
    expect(pinned.finishMove(key, 256)).toBe(pinned);
    expect(pinned.beginMove(key, 256)).toBe(pinned);
    const empty = new PinTable(256);
    expect(empty.beginMove(key, home)).toBe(empty);
    expect(empty.finishMove(key, home)).toBe(empty);
  });

  it('refuses a second move while one is under way, and the end of one that is not', () => {
    const moving = new PinTable(256).beginMove(key, 256);
    expect(() => moving.beginMove(key, 7)).toThrow(OptionError);
    expect(() => moving.finishMove(key, 7)).toThrow(OptionError);
    expect(() => moving.finishMove(key, home)).toThrow(OptionError);
    expect(() => new PinTable(256).finishMove(key, 7)).toThrow(OptionError);
  });

  it.each([-1, 1.5, Number.NaN, 256 + extraShardLimit, 2 ** 40])('refuses shard %j', (shard) => {
    expect(() => new PinTable(256).beginMove(key, shard)).toThrow(/shard/);
  });

  it('refuses more pins than its limit', () => {
    const pins = Array.from(
      { length: pinLimit },
      (_, index) => [`k${index}`, { state: 'pinned', shard: 256 }] as const,
    );
    const full = new PinTable(256, 1, pins);
    expect(() => full.beginMove('one more', 256)).toThrow(/10000/);
  });

  it('never changes, nor does what it gave out', () => {
    const table = new PinTable(256);
    table.beginMove(key, 256);
    expect(table.size).toBe(0);
  });

  it('survives its stored form, whatever the keys', () => {
    const keys = fc.oneof(
      fc.constantFrom('__proto__', 'constructor', 'toString', '"', '\u0001', '\u2028'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
    );
    const pin = fc.oneof(
      fc.record({ state: fc.constant('pinned' as const), shard: fc.nat(1279) }),
      fc.record({ state: fc.constant('moving' as const), from: fc.nat(1279), to: fc.nat(1279) }),
    );
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(keys, pin), { selector: ([name]) => name }), (pins) => {
        const table = new PinTable(256, 3, pins);
        const again = parse(formatPins(table));
        expect([...again.entries()]).toEqual([...table.entries()]);
        expect(again.extraShards).toEqual(table.extraShards);
        expect(again.version).toBe(3);
      }),
    );
  });

  it.each([
    ['no JSON', 'pins'],
    ['null', 'null'],
    ['an array', '[]'],
    ['another format', '{"format":2,"shardCount":256,"pins":[]}'],
    ['no list', '{"format":1,"shardCount":256,"pins":{"a":1}}'],
    ['an inherited list', '{"format":1,"shardCount":256,"__proto__":{"pins":[]}}'],
    ['a key twice', '{"format":1,"shardCount":256,"pins":[["a",1],["a",2]]}'],
    ['a short entry', entry('a')],
    ['a long entry', entry('a', 1, 2, 3)],
    ['a shard that is text', entry('a', '1')],
    ['a shard out of range', entry('a', 5000)],
    ['a fraction', entry('a', 0.5)],
    ['an empty key', entry('', 1)],
    ['a key that is no text', entry(7, 1)],
    ['a key of half a character', entry('\ud800', 1)],
    ['a key with a NUL', entry('a\0', 1)],
    ['deep nesting', '['.repeat(100_000)],
  ])('is not read from %s', (_what, text) => {
    expect(() => parse(text)).toThrow(RecordCorruptError);
  });

  it('is not read for another shard count', () => {
    expect(() => parse('{"format":1,"shardCount":512,"pins":[]}')).toThrow(OptionError);
  });

  it('does not take a document of a megabyte', () => {
    const pins = Array.from(
      { length: 3000 },
      (_, index) => [`${index}-${'x'.repeat(400)}`, { state: 'pinned', shard: 1 }] as const,
    );
    expect(() => formatPins(new PinTable(256, 0, pins))).toThrow(OptionError);
  });
});
