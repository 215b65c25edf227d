import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EtcdKeys } from '../../src/coordinators/etcd/keys.js';
import { OptionError } from '../../src/errors/index.js';

/** What every key of a coordinator begins with, as far as these names go, and every range that it reads. */
function beginningsOf(keys: EtcdKeys, names: readonly string[]): string[] {
  const parts = ['held', 'after', 'suspended', 'history', 'document'] as const;
  return [
    keys.space,
    keys.session('77'),
    ...parts.map((part) => keys.partOfGroup(part, '').key),
    ...names.flatMap((name) => [
      keys.queue(name).key,
      keys.candidates(name).key,
      keys.waiting(name).key,
    ]),
  ];
}

function meetings(one: readonly string[], other: readonly string[]): string[] {
  return one.flatMap((a) =>
    other.filter((b) => a.startsWith(b) || b.startsWith(a)).map((b) => `${a} and ${b}`),
  );
}

function keysOf(prefix: string, namespace: string): EtcdKeys | undefined {
  try {
    return new EtcdKeys(prefix, namespace);
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError);
    return undefined;
  }
}

const word = fc.constantFrom('x', 'default', 'tenure', 'held', 'document', '1', '%2F', 'é');
const prefix = fc
  .array(fc.oneof(word, fc.constantFrom('/', '/', ':', '\0')), { maxLength: 7 })
  .map((pieces) => pieces.join(''));
const name = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('/'));
const setting = fc.record({
  prefix: fc.oneof(
    prefix,
    prefix.map((rest) => `/${rest}`),
  ),
  namespace: name,
});

describe('the keys of two coordinators on etcd', () => {
  it('never meet if their prefixes or namespaces differ', () => {
    let comparedCount = 0;
    const names = fc.array(name, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(setting, setting, names, (a, b, used) => {
        fc.pre(a.prefix !== b.prefix || a.namespace !== b.namespace);
        const [one, other] = [keysOf(a.prefix, a.namespace), keysOf(b.prefix, b.namespace)];
        if (one === undefined || other === undefined) return;
        comparedCount += 1;
        expect(meetings(beginningsOf(one, used), beginningsOf(other, used))).toEqual([]);
      }),
      { numRuns: 5_000 },
    );
    expect(comparedCount).toBeGreaterThan(1_000);
  });

  it.each([
    ['the namespace "x" and the prefix "/x"', ['', 'x'], ['/x', 'default']],
    ['a prefix and one below it', ['/a/', 'default'], ['/a/x/', 'default']],
    ['a prefix and one that goes on with a namespace', ['/a/', 'x'], ['/a/x', 'default']],
    ['the namespaces "default" and "tenure"', ['/a/', 'default'], ['/a/', 'tenure']],
    ['no prefix, and a slash', ['', 'default'], ['/', 'default']],
  ] as const)('do not meet: %s', (_, [prefix, space], [otherPrefix, otherSpace]) => {
    const used = ['x', 'tenure', 'default', 'a', 'a/x'];
    const one = beginningsOf(new EtcdKeys(prefix, space), used);
    const other = beginningsOf(new EtcdKeys(otherPrefix, otherSpace), used);
    expect(meetings(one, other)).toEqual([]);
  });

  it.each(['x:', 'x', 'apps/', ':tenure/1/default/document/', '/apps:', '/a:tenure/1/default/'])(
    'keep to prefixes that nothing else can begin with: not %o',
    (refused) => {
      expect(() => new EtcdKeys(refused, 'default')).toThrow(
        /^prefix could meet keys of others .*: begin it with a slash and leave colons out/,
      );
    },
  );

  it('are, without a prefix, the elections that etcdctl takes part in', () => {
    expect(new EtcdKeys('', 'default').election('team/report')).toBe('team%2Freport');
    expect(new EtcdKeys('', 'prod').election('report')).toBe('prod:report');
    expect(new EtcdKeys('/apps/', 'default').election('report')).toBe('/apps/:default:report');
    expect(new EtcdKeys('/apps/', 'prod').election('report')).toBe('/apps/:prod:report');
  });
});
