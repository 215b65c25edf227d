import { describe, expect, it } from 'vitest';
import { Holder } from '../../../src/coordinators/index.js';
import { OptionError } from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import { tokenFrom } from '../../../src/fences/http/tokens.js';
import { memoryFence } from '../../../src/fences/memory/index.js';
import { expressFence, fastifyFence, honoFence, nodeFence } from '../../../src/http.js';

const fence = memoryFence();

describe('the options of an HTTP fence', () => {
  it.each([
    ['options', undefined],
    ['fence', { resource: 'ledger' }],
    ['fence', { resource: 'ledger', fence: {} }],
    ['resource', { fence }],
    ['resource', { fence, resource: '' }],
    ['resource', { fence, resource: 'a//b' }],
    ['resource', { fence, resource: { accept: () => true } }],
    ['required', { fence, resource: 'ledger', required: 'no' }],
    ['methods', { fence, resource: 'ledger', methods: [] }],
    ['methods', { fence, resource: 'ledger', methods: ['post'] }],
    ['methods', { fence, resource: 'ledger', methods: 'safe' }],
    ['maxTermAheadMs', { fence, resource: 'ledger', maxTermAheadMs: -1 }],
    ['maxTermAheadMs', { fence, resource: 'ledger', maxTermAheadMs: Number.NaN }],
    ['maxTerm', { fence, resource: 'ledger', maxTerm: 0 }],
    ['maxTerm', { fence, resource: 'ledger', maxTerm: Number.NaN }],
    ['maxTerm', { fence, resource: 'ledger', maxTerm: '7' }],
    ['maxTerm', { fence, resource: 'ledger', maxTerm: 7, maxTermAheadMs: 7 }],
    ['timeoutMs', { fence, resource: 'ledger', timeoutMs: 0 }],
    ['retryAfterMs', { fence, resource: 'ledger', retryAfterMs: '1' }],
    ['onRefused', { fence, resource: 'ledger', onRefused: 'log' }],
    ['runtime', { fence, resource: 'ledger', runtime: {} }],
  ] as [string, never][])('are refused when the fence is made: %s', (option, options) => {
    const node = (given: never) => nodeFence(given, () => {});
    const makers: ((given: never) => unknown)[] = [expressFence, fastifyFence, honoFence, node];
    for (const make of makers)
      expect(() => make(options)).toThrow(expect.objectContaining({ option }));
  });

  it('has a handler to be put in front of', () => {
    const options = { fence, resource: 'ledger' };
    expect(() => nodeFence(options, undefined as never)).toThrow('handler is not a function');
  });
});

describe('the token of a request', () => {
  const lease = tokenOf('ledger', 7);
  const { term, holder } = lease;
  const token = tokenFrom('ledger', { term, holderDigest: holder.digest, resource: undefined });

  it('is one for a fence, and the same as the lease', async () => {
    await fence.claim(lease);
    await fence.claim(token);
    expect(token.holder.equals(holder)).toBe(true);
    expect(token.holder.equals(Holder.parse(`other:${'0'.repeat(32)}`) as Holder)).toBe(false);
    expect([String(token.holder), JSON.stringify(token.holder)]).toEqual([
      holder.digest,
      `"${holder.digest}"`,
    ]);
  });

  it('says so to whoever wants the id or the nonce, which it does not have', () => {
    expect(() => token.holder.wire).toThrow(OptionError);
    expect(() => token.holder.id).toThrow(OptionError);
  });
});
