import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqlitePath } from '../../../src/drivers/sqlite/location.js';
import { OptionError } from '../../../src/errors/index.js';

describe('the location of a file', () => {
  it.each([
    ['/var/lib/x.db', '/var/lib/x.db'],
    ['x.db', resolve('x.db')],
    ['sqlite:x.db', resolve('x.db')],
    ['sqlite:/var/a b%20c?d#e.db', '/var/a b%20c?d#e.db'],
    ['sqlite:///var/x.db', '/var/x.db'],
    ['./~/x.db', resolve('./~/x.db')],
    ['~x.db', resolve('~x.db')],
    [new URL('sqlite:/var/a%20b.db'), '/var/a b.db'],
    [new URL('file:///var/a%20b.db'), '/var/a b.db'],
  ])('%s is the path %s', (location, path) => {
    expect(sqlitePath(location)).toBe(path);
  });

  it.each([
    ['nothing', ''],
    ['a database in memory', ':memory:'],
    ['a database in memory by URL', 'sqlite::memory:'],
    ['no path', 'sqlite:'],
    ['a host', 'sqlite://host/x.db'],
    ['another store', 'redis://127.0.0.1'],
    ["SQLite's own URL, which may ask for anything", 'file:x.db?vfs=unix-none'],
    ['a URL object of another store', new URL('redis://127.0.0.1')],
    ['parameters', new URL('file:///x.db?mode=memory')],
    ['a host by URL object', new URL('file://server/share/x.db')],
    ['a NUL', 'x\0.db'],
    ['two lines', 'sqlite:x\n.db'],
    ['half a character', 'x\ud800.db'],
    ['a folder', '/var/lib/'],
    ['a folder by URL', 'sqlite:/var/lib/'],
    ['of the home folder', '~/x.db'],
    ['of the home folder, by URL', 'sqlite:~/x.db'],
    ['of the home folder, by URL object', new URL('sqlite:~/x.db')],
    ["of somebody's home folder", '~ana/x.db'],
    ['a number', 5 as unknown as string],
    ['null', null as unknown as string],
  ])('is refused if it is %s', (_, location) => {
    const refusal = (() => {
      try {
        return sqlitePath(location);
      } catch (error) {
        return error;
      }
    })();
    expect(refusal).toBeInstanceOf(OptionError);
    expect(refusal).toMatchObject({ option: 'path' });
  });

  it('says how a path from the home folder is written', () => {
    expect(() => sqlitePath('~/x.db')).toThrow(
      /path begins at a home folder, .*\(got "~\/x\.db"\): pass the whole path, such as join\(homedir\(\), 'tenure\.db'\)/,
    );
  });
});
