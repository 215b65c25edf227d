import { describe, expect, it } from 'vitest';
import { slotOf } from '../../../src/drivers/redis/slot.js';
import { parseRedisUrl } from '../../../src/drivers/redis/url.js';
import { OptionError } from '../../../src/errors/index.js';
import { redisCoordinator } from '../../../src/redis.js';

describe('a Redis URL', () => {
  it('names sentinels, the master that they watch, and a database', () => {
    expect(parseRedisUrl('redis+sentinel://u:p%40ss@h1:1,h2,[::1]:3/my%2Fmaster/4')).toEqual({
      topology: 'sentinel',
      sentinels: [
        { host: 'h1', port: 1 },
        { host: 'h2', port: 26_379 },
        { host: '::1', port: 3 },
      ],
      masterName: 'my/master',
      db: 4,
      login: { username: 'u', password: 'p@ss' },
    });
  });

  it('names some nodes of a cluster', () => {
    expect(parseRedisUrl('rediss+cluster://:secret@h1:7000,h2/')).toEqual({
      topology: 'cluster',
      nodes: [
        { host: 'h1', port: 7000 },
        { host: 'h2', port: 6379 },
      ],
      login: { password: 'secret', tls: {} },
    });
  });

  it.each([
    ['redis+sentinel://h1,h2', 'does not name the master'],
    ['redis+sentinel://h1,h2/', 'does not name the master'],
    ['redis+sentinel://h1/name/x', 'not a number'],
    ['redis+sentinel://h1/name/0/more', 'more after the database'],
    ['redis+sentinel://h1,,h2/name', 'a host that is none'],
    ['redis+sentinel://h1:99999/name', 'a host that is none'],
    ['redis+sentinel://h1/name?db=1', 'parameters'],
    ['redis+cluster://h1,h2/3', 'only one'],
    ['redis+cluster://', 'a host that is none'],
    ['redis+quorum://h1', 'is not a Redis URL'],
  ])('is refused: %s', (url, problem) => {
    expect(() => parseRedisUrl(url)).toThrow(OptionError);
    expect(() => parseRedisUrl(url)).toThrow(problem);
  });

  it.each([
    'redis+sentinel://me:s3cret@h1',
    'redis+cluster://me:s3cret/h1:7000',
    'redis+cluster://me:s3%zzcret@h1',
    'redis+sentinel://me:s3cret#@h1/name',
  ])('is shown in no error: %s', (url) => {
    try {
      parseRedisUrl(url);
      expect.fail('it is refused');
    } catch (error) {
      expect(JSON.stringify(error) + String(error)).not.toMatch(/s3|cret/);
    }
  });

  it('and the options beside it are checked before anything is opened', () => {
    const sentinels = 'redis+sentinel://h1/name';
    const refused: [string, string, object][] = [
      ['redis://h', 'sentinelPassword', { sentinelPassword: 'x' }],
      [sentinels, 'sentinelPassword', { sentinelPassword: 1 }],
      [sentinels, 'nodeAddressMap', { nodeAddressMap: { 'h:1': 'no port?' } }],
      [sentinels, 'nodeAddressMap', { nodeAddressMap: [] }],
      [sentinels, 'replicas', { replicas: -1 }],
      [sentinels, 'replicas', { replicas: 1.5 }],
      [sentinels, 'replicaTimeoutMs', { replicas: 1, replicaTimeoutMs: 0 }],
      [sentinels, 'replicaTimeoutMs', { replicaTimeoutMs: 10 }],
    ];
    for (const [url, option, options] of refused) {
      expect(() => redisCoordinator(url, options as never)).toThrow(OptionError);
      expect(() => redisCoordinator(url, options as never)).toThrow(option);
    }
  });

  it('and the options go along in the recipe, for a thread that makes the same coordinator', () => {
    const options = { replicas: 1, sentinelPassword: 'x', nodeAddressMap: { 'a:1': 'b:2' } };
    const { recipe } = redisCoordinator('redis+sentinel://h1/name', options);
    expect(recipe?.args).toEqual([
      'redis+sentinel://h1/name',
      { ...options, namespace: 'default' },
    ]);
  });
});

it.each([
  ['123456789', 0x31c3],
  ['{user1000}.following', slotOf('user1000')],
  ['foo{}{bar}', slotOf('foo{}{bar}')],
  ['foo{{bar}}zap', slotOf('{bar')],
  ['somekey', 11_058],
])('the slot of %s is %i', (key, slot) => {
  expect(slotOf(key)).toBe(slot % 16_384);
});
