import { describe, expect, it } from 'vitest';
import { etcdLocation } from '../../../src/drivers/etcd/location.js';
import { OptionError } from '../../../src/errors/index.js';

const pem = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';

describe('where an etcd cluster is', () => {
  it('one URL names any number of members, each with a port of its own or the usual one', () => {
    const { endpoints, tls, user } = etcdLocation('etcd://h1:1234,h2,[::1]:99', undefined);
    expect(endpoints).toEqual([
      { host: 'h1', port: 1234 },
      { host: 'h2', port: 2379 },
      { host: '::1', port: 99 },
    ]);
    expect([tls, user]).toEqual([undefined, undefined]);
  });

  it('a list of URLs is one cluster, in the words that etcd itself uses', () => {
    const { endpoints, tls } = etcdLocation(['http://h1:2379', 'http://h2:2379/'], undefined);
    expect(endpoints).toHaveLength(2);
    expect(tls).toBeUndefined();
  });

  it('user and password are decoded', () => {
    const { user, password } = etcdLocation('etcd://a%40b:p%3Aw%2F@h1,h2', undefined);
    expect([user, password]).toEqual(['a@b', 'p:w/']);
  });

  it('etcds and https speak TLS, and so does whoever passes the option', () => {
    expect(etcdLocation('etcds://h1', undefined).tls).toBeDefined();
    expect(etcdLocation('https://h1', undefined).tls).toBeDefined();
    expect(etcdLocation('etcd://h1', { ca: pem }).tls?.ca).toBe(pem);
  });

  it.each([
    '',
    'h1:2379',
    'redis://h1',
    'etcd://',
    'etcd://h1,',
    'etcd://h1:0',
    'etcd://h1:65536',
    'etcd://h1/path',
    'etcd://h1?timeout=5',
    'etcd://a%zz@h1',
    'etcd://a b',
  ])('%j is refused', (url) => {
    expect(() => etcdLocation(url, undefined)).toThrow(OptionError);
  });

  it('members with different users or schemes are refused, without a word of either', () => {
    for (const other of ['etcd://c:secret2@h2', 'etcds://a:secret1@h2']) {
      const parse = () => etcdLocation(['etcd://a:secret1@h1', other], undefined);
      expect(parse).toThrow('different schemes or users');
      expect(parse).not.toThrow(/secret/);
    }
    expect(() => etcdLocation([], undefined)).toThrow(OptionError);
  });

  it.each([
    'etcd://a:secret@h1/path',
    'etcd://a:pa/secret@h1',
    'etcd://a:p@ secret@h1',
    'etcd://a:pa?secret@h1',
    'etcd://a:pa#secret@h1',
    'etcd://a:secret',
    'etcd://a:secret@h1,b:secret',
    'etcd://a:%zzsecret@h1',
    'a:secret@h1',
  ])('nothing of a URL that is refused is shown, since a password may be anywhere: %s', (url) => {
    let error: unknown;
    try {
      etcdLocation(url, undefined);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(OptionError);
    const { message, value } = error as OptionError;
    expect(`${message} ${value}`).not.toContain('secret');
  });
});
