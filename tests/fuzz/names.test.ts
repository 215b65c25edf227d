import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/errors/index.js';
import { etcdCoordinator } from '../../src/etcd.js';

const location = 'etcd://127.0.0.1:1';

describe('a prefix of keys in etcd', () => {
  it.each(['\ud800', '\ud801', 'x'.repeat(1 << 20), 7, null, {}])(
    'that would be another one in the store, or none, is refused: %#',
    (prefix) => {
      const open = () => etcdCoordinator(location, { prefix: prefix as string });
      expect(open).toThrow(OptionError);
      expect(open).toThrow(/^prefix .{0,200}use at most 1024 bytes of UTF-8 text/s);
    },
  );

  it.each(['', 'team/', '\0', 'a\nb', '*?[', '{}', '\u202ea', 'x'.repeat(1_024)])(
    'may be any other text: %j',
    async (prefix) => {
      await etcdCoordinator(location, { prefix }).close();
    },
  );
});
