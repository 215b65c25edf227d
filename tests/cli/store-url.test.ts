import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addressOf, checkUrl, filePathOf } from '../../src/cli/store-url.js';
import { sqlitePath as libraryPathOf } from '../../src/drivers/sqlite/location.js';

function refusedOr(path: () => string): string {
  try {
    return path();
  } catch {
    return 'refused';
  }
}

describe('the URL of a store', () => {
  it.each([
    'memory:',
    'sqlite:/var/lib/tenure/tenure.db',
    'sqlite:tenure.db',
    'redis://localhost',
    'redis://:secret@host:6380/1',
    'rediss://user:secret@host',
  ])('may be %s', (url) => {
    expect(checkUrl(url, '--url')).toBe(url);
  });

  it.each([
    ['localhost:6379', 'names no store known here'],
    ['/var/lib/tenure.db', 'is not a URL'],
    ['', 'is not a URL'],
    ['mysql://h', 'names no store known here'],
    ['memory://x', 'names a memory elsewhere'],
    ['redis:', 'names no host'],
    ['sqlite:', 'names no file'],
    ['sqlite::memory:', 'names a database that no other process sees'],
    ['sqlite://host/tenure.db', 'names a host, and a file is on this machine'],
    ['sqlite:/var/lib/', 'names a folder'],
    ['sqlite:/var/\u0007', 'holds characters that are not text'],
  ])('is not %j: it %s', (url, problem) => {
    expect(() => checkUrl(url, 'REDIS_URL')).toThrow(`REDIS_URL ${problem}`);
  });

  it('is told to commands that many processes meet by without a memory, which they refuse', () => {
    for (const url of ['http://x', 'memory://x', 'sqlite::memory:'])
      expect(() => checkUrl(url, '--url')).not.toThrow(/use.* memory:/);
  });

  it.each(['postgres://u@h/db', 'postgresql://h'])('is that of no fence: %s', (url) => {
    const message =
      /--url names PostgreSQL, which is a fence here, not a store of leases.*: use sqlite:PATH, redis:/;
    expect(() => checkUrl(url, '--url')).toThrow(message);
  });

  it.each(['127.0.0.1:6379', 'localhost:6379', '[::1]:6379'])('begins with a scheme: %s', (url) => {
    expect(() => checkUrl(url, '--url')).toThrow(`use redis://${url}`);
  });

  it('names a file by all that follows the scheme', () => {
    expect(filePathOf('sqlite:/a b/c%20d.db', '--url')).toBe('/a b/c%20d.db');
    expect(filePathOf('sqlite:///a/b.db', '--url')).toBe('/a/b.db');
    expect(filePathOf('sqlite:b.db', '--url')).toBe('b.db');
    expect(filePathOf('sqlite:~/b.db', '--url')).toBe(`${homedir()}/b.db`);
  });

  it.each([
    'sqlite:/a b/c%20d.db',
    'sqlite:///a/b.db',
    'sqlite:b.db',
    'sqlite:./a/../b.db',
    'sqlite:',
    'sqlite::memory:',
    'sqlite://host/b.db',
    'sqlite:////a/b.db',
    'sqlite:/var/lib/',
    'sqlite:/var/\u0007',
    'sqlite:b\n.db',
    'sqlite:b\ud800.db',
  ])('names the same file to the library as here, or none: %j', (url) => {
    expect(refusedOr(() => resolve(filePathOf(url, '--url')))).toBe(
      refusedOr(() => libraryPathOf(url)),
    );
  });

  it.each([
    ['redis://user:secret@host:6380/1', 'redis://host:6380/1'],
    ['rediss://:secret@host', 'rediss://host'],
    ['redis://host/x?password=secret', 'redis://host/x'],
    ['redis://u:secret#@host', 'something that is not a URL'],
    ['sqlite:/var/lib/tenure.db', 'sqlite:/var/lib/tenure.db'],
    ['memory:', 'memory:'],
  ])('is shown without whom we are there: %s', (url, address) => {
    expect(addressOf(url)).toBe(address);
  });
});
