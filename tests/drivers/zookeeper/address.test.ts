import { describe, expect, it } from 'vitest';
import { parseZooKeeperUrl } from '../../../src/drivers/zookeeper/index.js';
import { OptionError } from '../../../src/index.js';

function errorOf(url: string): OptionError {
  try {
    parseZooKeeperUrl(url);
  } catch (error) {
    if (error instanceof OptionError) return error;
  }
  throw new Error(`${url} was accepted`);
}

describe('a URL of an ensemble', () => {
  it('names servers, a path, a login and the limits of a ttl', () => {
    const url =
      'zookeeper://ann%40b:p%3Aw%2F@h1:2182,h2,[::1]:2183/a/b%40c?smallestTtlMs=1000&largestTtlMs=9000';
    expect(parseZooKeeperUrl(url)).toEqual({
      servers: [
        { host: 'h1', port: 2182 },
        { host: 'h2', port: 2181 },
        { host: '::1', port: 2183 },
      ],
      chroot: '/a/b@c',
      login: 'ann@b:p:w/',
      smallestTtlMs: 1_000,
      largestTtlMs: 9_000,
    });
  });

  it('may have in its password what means something else behind the hosts', () => {
    expect(parseZooKeeperUrl('zookeeper://ann:a?b=1#c:d@h').login).toBe('ann:a?b=1#c:d');
  });

  it.each([
    'zookeeper://user:geheim/s@h',
    'zookeeper://user:geheim@s@h',
    'zookeeper://user:geheim%zz@h',
    'zookeeper://user:2181/geheim@h',
    'zookeeper://user:geheim',
    'zookeeper://user:x@h/a/../geheim',
    'zookeeper://user:x@h/%zzgeheim',
    'zookeeper://user:x@h?geheim=1',
    'zookeeper://geheim@h',
    'zookeepers://user:geheim@h',
    'zk://user:geheim@h',
  ])('that is refused is shown nowhere, whatever is a password in it: %s', (url) => {
    const error = errorOf(url);
    expect(error.option).toBe('url');
    expect(`${error.message} ${String(error.value)} ${error.stack}`).not.toContain('geheim');
  });

  it('that asks for TLS is refused as such', () => {
    for (const url of ['zookeepers://h', 'zookeeper+ssl://h', 'zookeeper+tls://h'])
      expect(errorOf(url).message).toContain('asks for TLS');
    expect(errorOf('zookeeper://h?tls=true').message).toContain('asks for TLS');
  });
});
