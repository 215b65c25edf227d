import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveSettings, type Surroundings } from '../../src/cli/settings/index.js';

let folder: string;
let home: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-settings-'));
  home = join(folder, 'home');
  mkdirSync(join(home, '.config/tenure'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

function around(environment: Record<string, string> = {}): Surroundings {
  return { environment: { HOME: home, ...environment }, workingFolder: folder };
}

function writeLocal(content: object | string): void {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  writeFileSync(join(folder, 'tenure.json'), text);
}

const userFile = () => join(home, '.config/tenure/config.json');

describe('a setting', () => {
  it('comes from the flag, else the environment, else the config file, else its default', () => {
    const ttl = (flags: object, surroundings: Surroundings) =>
      resolveSettings(['ttl'], { ...flags }, surroundings).ttl;
    const variable = around({ TENURE_TTL: '20s' });
    expect(ttl({}, around())).toEqual({ value: 30_000, source: 'default' });
    writeLocal({ ttl: '10s' });
    expect(ttl({}, around())).toEqual({ value: 10_000, source: './tenure.json: ttl' });
    expect(ttl({}, variable)).toEqual({ value: 20_000, source: 'TENURE_TTL' });
    expect(ttl({ ttl: '40s' }, variable)).toEqual({ value: 40_000, source: '--ttl' });
  });

  it('is refused by name where the working folder was removed', () => {
    const before = process.cwd();
    const gone = mkdtempSync(join(tmpdir(), 'tenure-gone-'));
    process.chdir(gone);
    rmSync(gone, { recursive: true });
    try {
      expect(() => resolveSettings(['ttl'], {})).toThrow(
        /the working folder is not there any more/,
      );
    } finally {
      process.chdir(before);
    }
  });

  it('that is an empty variable says nothing', () => {
    const { namespace } = resolveSettings(['namespace'], {}, around({ TENURE_NAMESPACE: '' }));
    expect(namespace).toEqual({ value: 'default', source: 'default' });
  });

  it.each([
    ['a flag', { ttl: 'soon' }, {}, /^--ttl is not a duration/],
    ['a variable', {}, { TENURE_TTL: '30' }, /^TENURE_TTL is not a duration/],
    ['a file', {}, {}, /^\.\/tenure\.json: ttl is out of range .* use 100ms to 24h$/],
  ])('names where a bad value was written: %s', (_where, flags, environment, message) => {
    writeLocal({ ttl: '1ms' });
    expect(() => resolveSettings(['ttl'], flags, around(environment))).toThrow(message);
  });

  it('harms nobody who does not need it', () => {
    const surroundings = around({ TENURE_TTL: 'soon' });
    expect(resolveSettings(['namespace'], {}, surroundings).namespace.value).toBe('default');
  });

  it.each([
    ['url', 'TENURE_URL', 'localhost:6379', 'TENURE_URL names no store known here'],
    ['url', 'TENURE_URL', 'redis://u:hunter2#@h', 'TENURE_URL is not a URL: it has'],
    ['url', 'TENURE_URL', 'redis://', 'TENURE_URL names no host'],
    ['namespace', 'TENURE_NAMESPACE', 'a//b', 'TENURE_NAMESPACE has an empty segment'],
    ['id', 'TENURE_ID', 'a b', 'TENURE_ID is not a holder id'],
    ['by', 'TENURE_BY', 'a\u0007', 'TENURE_BY does not say who'],
    ['timeout', 'TENURE_TIMEOUT', '0s', 'TENURE_TIMEOUT is out of range'],
  ] as const)('of the kind %s refuses a bad value', (key, variable, value, message) => {
    const resolve = () => resolveSettings([key], {}, around({ [variable]: value }));
    expect(resolve).toThrow(message);
    expect(resolve).not.toThrow('hunter2');
  });

  it('of who does it is user and host by default', () => {
    expect(resolveSettings(['by'], {}, around()).by.value).toMatch(/^[^@]+@[^@]+$/);
  });
});

describe('the default store', () => {
  it('is a file in the state folder of the user', () => {
    const url = (environment = {}) => resolveSettings(['url'], {}, around(environment)).url.value;
    expect(url()).toBe(`sqlite:${home}/.local/state/tenure/tenure.db`);
    expect(url({ XDG_STATE_HOME: '/var/state' })).toBe('sqlite:/var/state/tenure/tenure.db');
    // The XDG specification: relative paths are to be ignored.
    expect(url({ XDG_STATE_HOME: 'state' })).toBe(`sqlite:${home}/.local/state/tenure/tenure.db`);
  });
});

describe('the config file', () => {
  const namespace = (flags = {}, environment = {}) =>
    resolveSettings(['namespace'], flags, around(environment)).namespace;

  it('is the named one, else the one beside us, else the one of the user, and only that one', () => {
    writeFileSync(userFile(), JSON.stringify({ namespace: 'user', ttl: '1m' }));
    expect(namespace()).toEqual({ value: 'user', source: `${userFile()}: namespace` });
    writeLocal({ namespace: 'local' });
    expect(namespace()).toEqual({ value: 'local', source: './tenure.json: namespace' });
    expect(resolveSettings(['ttl'], {}, around()).ttl.source).toBe('default');
    writeFileSync(join(folder, 'a.json'), JSON.stringify({ namespace: 'a' }));
    writeFileSync(join(folder, 'b.json'), JSON.stringify({ namespace: 'b' }));
    const variable = { TENURE_CONFIG: 'a.json' };
    expect(namespace({}, variable)).toEqual({ value: 'a', source: 'a.json: namespace' });
    expect(namespace({ config: 'b.json' }, variable).source).toBe('b.json: namespace');
  });

  it('of the user stands where XDG_CONFIG_HOME says', () => {
    mkdirSync(join(folder, 'xdg/tenure'), { recursive: true });
    writeFileSync(join(folder, 'xdg/tenure/config.json'), '{"namespace":"xdg"}');
    expect(namespace({}, { XDG_CONFIG_HOME: join(folder, 'xdg') }).value).toBe('xdg');
  });

  it('has to be there if it is named', () => {
    expect(() => namespace({ config: 'none.json' })).toThrow('--config cannot be read: ENOENT');
    expect(() => namespace({}, { TENURE_CONFIG: folder })).toThrow(
      'TENURE_CONFIG cannot be read: EISDIR',
    );
  });

  it.each([
    ['{"url": "redis://u:hunter2@h"', './tenure.json is not JSON'],
    ['["redis://h"]', './tenure.json is not a JSON object'],
    ['null', './tenure.json is not a JSON object'],
    ['{"ttl": 30}', './tenure.json: ttl is not a text'],
    [String.raw`{"namespace": "hunter2\u0000"}`, './tenure.json: namespace holds a zero byte'],
    [String.raw`{"namespace": "hunter2\ud800"}`, './tenure.json: namespace holds a zero byte, or'],
    ['{"urll": "redis://u:hunter2#@h"}', './tenure.json: urll is no setting'],
    ['{"__proto__": "x"}', './tenure.json: __proto__ is no setting'],
  ])('that holds %s is refused without what it says', (content, message) => {
    writeLocal(content);
    expect(namespace).toThrow(message);
    expect(namespace).not.toThrow('hunter2');
  });

  it('means paths as relative to itself', () => {
    mkdirSync(join(folder, 'etc'));
    const write = (url: string) =>
      writeFileSync(join(folder, 'etc/tenure.json'), JSON.stringify({ url }));
    const url = () => resolveSettings(['url'], { config: 'etc/tenure.json' }, around()).url.value;
    write('sqlite:leases.db');
    expect(url()).toBe(`sqlite:${folder}/etc/leases.db`);
    for (const same of ['sqlite:/var/leases.db', 'sqlite:~/leases.db', 'redis://h']) {
      write(same);
      expect(url()).toBe(same);
    }
  });
});
