import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { highestTerm, validateName } from '../../../src/coordinators/index.js';
import { OptionError } from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import {
  decodeResource,
  headersOf,
  MalformedHeader,
  readPresented,
} from '../../../src/fences/http/headers.js';

const isName = (text: string) => {
  try {
    return validateName(text) === text;
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError);
    return false;
  }
};
const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }).filter(isName);
const terms = fc.integer({ min: 1, max: highestTerm });
const digest = 'a'.repeat(32);

function reading(headers: Record<string, string>) {
  return readPresented((name) => headers[name]);
}

describe('the headers of a fenced request', () => {
  it('carry every token there and back', () => {
    fc.assert(
      fc.property(names, terms, (name, term) => {
        const token = tokenOf(name, term);
        const sent = headersOf(token).map(([header, value]) => [header.toLowerCase(), value]);
        for (const [, value] of sent) expect(value).toMatch(/^[!-~]+$/);
        const presented = { term, holderDigest: token.holder.digest, resource: name };
        expect(reading(Object.fromEntries(sent))).toEqual(presented);
      }),
    );
  });

  it('are read whatever they hold, and never as anything but a token or a mistake', () => {
    const anything = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('0', '1', '9', '%', 'C', '3', 'a', '/', '.', ',', ' ') }),
    );
    fc.assert(
      fc.property(anything, anything, anything, (term, holder, resource) => {
        const presented = reading({
          'fencing-token': term,
          'fencing-holder': holder,
          'fencing-resource': resource,
        });
        expect(presented).toBeInstanceOf(MalformedHeader);
      }),
      { numRuns: 500 },
    );
  });

  it('take a term in its one decimal form alone', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 18 });
    fc.assert(
      fc.property(digits, (text) => {
        const presented = reading({ 'fencing-token': text, 'fencing-holder': digest });
        const value = Number(text);
        if (String(value) === text && value >= 1 && value <= highestTerm)
          expect(presented).toMatchObject({ term: value });
        else expect(presented).toBeInstanceOf(MalformedHeader);
      }),
      { numRuns: 1_000 },
    );
  });

  it('mean one name, however it is encoded, and no two', () => {
    fc.assert(
      fc.property(names, names, (one, other) => {
        const escaped = [...Buffer.from(one)].map((byte) => byte.toString(16).padStart(2, '0'));
        expect(decodeResource(`%${escaped.join('%')}`)).toBe(one);
        expect(decodeResource(encodeURIComponent(one))).toBe(one);
        const [first, second] = [one, other].map((name) => headersOf(tokenOf(name, 1))[2]?.[1]);
        expect(first === second).toBe(one === other);
      }),
    );
  });

  it('hold no name that a fence would not take', () => {
    const encoded = fc.string({
      unit: fc.constantFrom('a', '/', '.', '%2F', '%2e', '%00', '%C3', '%A9', '%ED%A0%80', '~'),
      maxLength: 12,
    });
    fc.assert(
      fc.property(encoded, (text) => {
        const name = decodeResource(text);
        if (name !== undefined) expect(isName(name)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('may leave the resource to the server', () => {
    const presented = reading({ 'fencing-token': '7', 'fencing-holder': digest });
    expect(presented).toEqual({ term: 7, holderDigest: digest, resource: undefined });
    expect(reading({})).toBeUndefined();
  });
});
