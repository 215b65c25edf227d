import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { naming } from '../../src/cli/naming.js';
import { addressOf, checkUrl, filePathOf } from '../../src/cli/store-url.js';
import { openStores } from '../../src/cli/stores.js';
import { sqlitePath as libraryPathOf } from '../../src/drivers/sqlite/location.js';
import { OptionError } from '../../src/index.js';

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
    'postgres://app:secret@db.internal/app?schema=leases',
    'postgresql:///app?host=/run/postgresql',
    'etcd://h1,h2,h3',
    'etcd://user:sec,ret@h1:2379,h2:2379,[::1]:2379',
    'etcds://h1.internal:2379',
    'zookeeper://h1:2181,h2:2181/team/leases',
    'redis+sentinel://:secret@h1:26379,h2:26379/mymaster',
    'rediss+cluster://h1:6379,h2:6379',
    'redis+quorum://h1:6379,h2:6379,h3:6379',
  ])('may be %s', (url) => {
    expect(checkUrl(url, '--url')).toBe(url);
  });

  it.each([
    ['localhost:6379', 'names no store known here'],
    ['/var/lib/tenure.db', 'is not a URL'],
    ['', 'is not a URL'],
    ['mysql://h', 'names a store that keeps fences alone (got "mysql://h"): only tenure migrate'],
    ['MariaDB://h', 'names a store that keeps fences alone'],
    [
      'postgress://h/d',
      'names no store known here (got "postgress://h/d"): did you mean postgres:? use',
    ],
    ['redi://h', 'names no store known here (got "redi://h"): did you mean redis:? use'],
    ['memory://x', 'names a memory elsewhere'],
    ['redis:', 'names no host'],
    ['sqlite:', 'names no file'],
    ['sqlite::memory:', 'names a database that no other process sees'],
    ['sqlite://host/tenure.db', 'names a host, and a file is on this machine'],
    ['sqlite:/var/lib/', 'names a folder'],
    ['sqlite:~ana/x.db', "begins at somebody's home folder, of which only ~/ is known"],
    ['etcd:', 'is not a list of hosts'],
    ['etcd://', 'is not a list of hosts'],
    ['etcd://h1,,h2', 'is not a list of hosts'],
    ['etcd://h1:0', 'is not a list of hosts'],
    ['etcd://h1:65536', 'is not a list of hosts'],
    ['zookeeper://h1 h2', 'is not a list of hosts'],
    ['redis+quorum://h1;h2', 'is not a list of hosts'],
    ['toString://h', 'names no store known here'],
    ['sqlite:/var/\u0007', 'holds characters that are not text'],
  ])('is not %j: it %s', (url, problem) => {
    expect(() => checkUrl(url, 'REDIS_URL')).toThrow(`REDIS_URL ${problem}`);
  });

  it('is told to commands that many processes meet by without a memory, which they refuse', () => {
    for (const url of ['http://x', 'memory://x', 'sqlite::memory:'])
      expect(() => checkUrl(url, '--url')).not.toThrow(/use.* memory:/);
  });

  it.each([
    'etcd://u:p@secret@h1,h2',
    'etcd://u:p/secret@h1,h2',
    'etcd://u:1/secret@h1',
    'etcd://u:1?secret@h1',
    'redis+sentinel://u:p#secret@h1/m',
    'zookeeper://u:p secret@h1',
  ])('shows nothing of what may be a password: %s', (url) => {
    expect(addressOf(url)).toBe('something that is not a URL');
    expect(() => checkUrl(url, '--url')).toThrow(/^--url is not a list of hosts(?!.*secret)/);
  });

  it.each([
    ['redis:/localhost', 'has 1 slash after its scheme'],
    ['redis://u:1/secret@h', 'has an @ where none belongs'],
    ['postgres://u:1?secret@h/app', 'has an @ where none belongs'],
    ['redis://u:p@secret@h', 'has an @ where none belongs'],
    ['redis://u:100%secret@h', 'has a % in its user or password that encodes nothing'],
    ['redis://h:sechs', 'has a port that is no number'],
    ['etcd://h1:2379,h2:x', 'has a port that is no number'],
    ['redis://u:p secret@h', 'has a space'],
    ['redis://h/0#secret', 'has a #'],
  ])('is refused with the part that is wrong, and nothing of the text: %s', (url, part) => {
    expect(() => checkUrl(url, '--url')).toThrow(part);
    expect(() => checkUrl(url, '--url')).not.toThrow(/secret/);
  });

  it.each(['/var/lib/x.db', './x.db', '~/x.db'])('is told to a path: %s', (path) => {
    expect(() => checkUrl(path, '--url')).toThrow('for a file, use sqlite:PATH');
  });

  it.each([
    ['sqlite:x.db?mode=ro', 'has the parameter mode, and a file takes none'],
    ['sqlite:/a/x.db?mode=ro&cache=shared', 'has the parameters mode, cache, and a file'],
  ])('of a file takes no parameters, which would be a part of its name: %s', (url, problem) => {
    expect(() => checkUrl(url, '--url')).toThrow(problem);
    expect(() => libraryPathOf(url)).toThrow(problem);
  });

  it('of a file may have a question mark in its name', () => {
    expect(checkUrl('sqlite:/a/why?.db', '--url')).toBe('sqlite:/a/why?.db');
    expect(libraryPathOf('/a/x.db?mode=ro')).toBe('/a/x.db?mode=ro');
  });

  it.each(['127.0.0.1:6379', 'localhost:6379', '[::1]:6379'])('begins with a scheme: %s', (url) => {
    expect(() => checkUrl(url, '--url')).toThrow(`use redis://${url}`);
  });

  it.each([
    ['h:2379', 'etcd'],
    ['h:2181', 'zookeeper'],
    ['h:5432', 'postgres'],
  ])('is guessed by the port: %s', (url, scheme) => {
    expect(() => checkUrl(url, '--url')).toThrow(`use ${scheme}://${url}`);
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
    ['postgres://u:secret@h:5432/app?schema=leases&x=1', 'postgres://h:5432/app?schema=leases'],
    ['postgres://u:secret@h/app?schema=a%20b', 'postgres://h/app'],
    ['etcd://u:secret@h1:2379,h2:2379?ca=/x', 'etcd://h1:2379,h2:2379'],
    ['ZooKeeper://h1,[::1]:2181/team/leases', 'zookeeper://h1,[::1]:2181/team/leases'],
    ['zookeeper://h1/%2e%2e', 'zookeeper://h1'],
    ['zookeeper://h1?smallestTtlMs=1000', 'zookeeper://h1?smallestTtlMs=1000'],
    ['zookeeper://h1?a=1&b=secret', 'zookeeper://h1'],
    ['redis+sentinel://:secret@h1:26379,h2/main', 'redis+sentinel://h1:26379,h2/main'],
  ])('is shown without whom we are there: %s', (url, address) => {
    expect(addressOf(url)).toBe(address);
  });
});

describe('what a store refuses in a URL', () => {
  const refused = (url: string) => openStores(url, 'default', '--url');

  it.each([
    ['zookeeper://127.0.0.1:1/a//b', '--url has a path that ZooKeeper refuses: '],
    ['zookeeper://u@h:1', '--url has no user and password before its @: '],
    ['zookeeper://h/%zz', '--url has a % that begins no byte: '],
    ['zookeeper://h?x=1', '--url has a parameter that is none: '],
    ['etcd://h:1/x', '--url is no URL of an etcd cluster: '],
    ['etcd://h?x=1', '--url has what is no parameter of an etcd URL: '],
    ['redis://h:1/x', '--url names a database that is not a number: '],
    ['redis+sentinel://h:1', '--url does not name the master that the sentinels watch: '],
    ['redis+cluster://h:1/3', '--url names a database, of which a cluster has only one: '],
    ['redis+quorum://h:1', '--url names 1 nodes, and a quorum has 3 to 15: '],
    ['postgres://h/a?x=1', '--url has a parameter that is none: '],
  ])(
    'is told in whole sentences, with a form in which nothing is masked: %s',
    async (url, said) => {
      const error = await refused(url).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OptionError);
      const { message } = error as OptionError;
      expect(message.startsWith(said), message).toBe(true);
      expect(message).not.toContain('***');
    },
  );

  it('is told whole beside a remedy that shows a login, which is masked', async () => {
    const opening = naming({ url: '--url' }, () => {
      throw new OptionError('url', 'hidden', 'is none of ours', 'write store://user:password@host');
    });
    await expect(opening).rejects.toThrow('--url is none of ours: write store://***@host');
  });
});
