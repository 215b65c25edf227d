import { describe, expect, it } from 'vitest';
import {
  ClosedError,
  OptionError,
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { fromWire, toWire } from '../../../src/leases/thread/wire-error.js';

const sent = (error: unknown) => fromWire(structuredClone(toWire(error)));

describe('an error on its way between threads', () => {
  it.each<TenureError>([
    new UnreachableError('no connection', new Error('ECONNREFUSED')),
    new OutcomeUnknownError('no answer'),
    new StoreMisconfiguredError('a replica'),
    new StoreRefusedError('OOM', 'out of memory'),
  ])('keeps its class, code, message and cause: $name', (error) => {
    const copy = sent(error);
    expect(copy).toBeInstanceOf(error.constructor);
    expect(copy).toMatchObject({ ...error, message: error.message });
    expect((copy.cause as Error | undefined)?.message).toBe((error.cause as Error)?.message);
    expect(copy.stack).toBe(error.stack);
  });

  it('keeps the word of the store', () => {
    expect(sent(new StoreRefusedError('READONLY', 'no'))).toMatchObject({ storeCode: 'READONLY' });
  });

  it.each<TenureError>([new ClosedError('it'), new OptionError('a', 1, 'is wrong', 'do b')])(
    'keeps code and name at least: $name',
    (error) => {
      const { code, name, message } = error;
      expect(sent(error)).toMatchObject({ code, name, message });
    },
  );

  it('carries no password', () => {
    const error = new Error('connect redis://user:secret@host failed');
    expect(JSON.stringify(toWire(error))).not.toContain('secret');
  });

  it('is an error whatever was thrown', () => {
    expect(sent('text').message).toBe('text');
  });
});
