import { describe, expect, it } from 'vitest';
import {
  failureError,
  failureOf,
  LeaseExists,
  LeaseNotFound,
  type NoAnswer,
  TokenExpired,
} from '../../../src/drivers/etcd/errors.js';
import { keyValue, withPrefix } from '../../../src/drivers/etcd/kv.js';
import { versionWarning } from '../../../src/drivers/etcd/versions.js';
import { StoreMisconfiguredError, StoreRefusedError } from '../../../src/errors/index.js';

const meaning = (code: number, message: string) =>
  failureError({ code, message: `etcdserver: ${message}` }, 'h1:2379', 'acquire');

describe('what a failure of etcd means', () => {
  it.each([
    [5, 'requested lease not found', LeaseNotFound],
    [9, 'lease already exists', LeaseExists],
    [16, 'invalid auth token', TokenExpired],
    [3, 'revision of auth store is old', TokenExpired],
    [8, 'mvcc: database space exceeded', StoreRefusedError],
    [3, 'authentication failed, invalid user ID or password', StoreMisconfiguredError],
    [3, 'user name is empty', StoreMisconfiguredError],
    [7, 'permission denied', StoreMisconfiguredError],
    [3, 'too many operations in txn request', StoreMisconfiguredError],
    [3, 'duplicate key given in txn request', StoreRefusedError],
  ])('%i %s', (code, message, kind) => {
    expect(meaning(code, message)).toBeInstanceOf(kind);
  });

  it('without a leader nothing was executed; after a time-out it may have been', () => {
    const verdict = (message: string) => (meaning(14, message) as NoAnswer).mayBeExecuted;
    expect(verdict('no leader')).toBe(false);
    for (const message of [
      'request timed out',
      'request timed out, possibly due to previous leader failure',
      'leader changed',
      'server stopped',
    ]) {
      expect(verdict(message), message).toBe(true);
    }
  });

  it.each([1, 2, 4, 13, 14, 15])('code %i leaves open what became of the request', (code) => {
    expect(meaning(code, 'words')).toMatchObject({ mayBeExecuted: true });
  });

  it('repeats nothing of what the server said: that may quote a key', () => {
    expect(meaning(3, 'duplicate key s3cret').message).not.toContain('s3cret');
  });

  it('is found in the forms of all versions of the gateway', () => {
    const found = { code: 5, message: 'm' };
    expect(failureOf({ error: 'm', message: 'm', code: 5 })).toEqual(found);
    expect(failureOf({ code: 5, message: 'm', details: [] })).toEqual(found);
    expect(failureOf({ error: { grpc_code: 5, http_code: 404, message: 'm' } })).toEqual(found);
    expect(failureOf({ error: { code: 5, message: 'm' } })).toEqual(found);
    expect(failureOf({ header: {}, succeeded: true })).toBeUndefined();
  });
});

describe('the versions of etcd', () => {
  it.each(['3.3.27', '3.4.23', '3.4.41', '3.5.0', '3.5.27', '3.6.8', '2.3.8'])(
    '%s is warned of',
    (version) => {
      expect(versionWarning(version, 'h1:2379')).toMatch(/3\.4\.42, 3\.5\.28 and 3\.6\.9/);
    },
  );

  it.each(['3.4.42', '3.4.44', '3.5.28', '3.6.9', '3.7.0', '4.0.0'])('%s is not', (version) => {
    expect(versionWarning(version, 'h1:2379')).toBeUndefined();
  });
});

describe('keys and revisions', () => {
  it('a prefix ends before the next one', () => {
    expect(withPrefix('a/')).toEqual({ key: 'a/', end: 'a0' });
  });

  it('a revision that is no safe integer is refused: no term could be told', () => {
    const raw = { key: 'YQ==', mod_revision: '9007199254740993' };
    expect(() => keyValue(raw)).toThrow(StoreRefusedError);
    expect(keyValue({ ...raw, mod_revision: '9007199254740991' }).modRevision).toBe(2 ** 53 - 1);
  });
});
