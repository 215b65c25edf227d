import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  OptionError,
  redactSecrets,
  StaleTermError,
  UnreachableError,
} from '../../src/errors/index.js';

describe('a password', () => {
  it.each([
    ['redis://:hunter2@localhost:6379/0', 'redis://***@localhost:6379/0'],
    [
      'connect to postgres://shop:p@ss:w0rd@db/shop failed',
      'connect to postgres://***@db/shop failed',
    ],
    [
      'postgres://db/shop?user=shop&password=hunter2&ssl=1',
      'postgres://db/shop?user=shop&password=***&ssl=1',
    ],
    [
      'redis+sentinel://user:hunter2@h1,user:hunter2@h2/mymaster',
      'redis+sentinel://***@h2/mymaster',
    ],
    ['nothing to hide', 'nothing to hide'],
  ])('in %j never shows', (text, expected) => {
    expect(redactSecrets(text)).toBe(expected);
  });

  it('of a third party’s error shows neither in message, stack, cause nor arguments', () => {
    const foreign = Object.assign(new Error('connect redis://:hunter2@h:1 refused'), {
      code: 'ECONNREFUSED',
      command: { args: ['hunter2'] },
    });
    const error = new UnreachableError('redis://:hunter2@h:1 cannot be reached', foreign);
    expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it.each([undefined, 'hidden'])('shows no value where there is none to show: %s', (value) => {
    const error = new OptionError('url', value, 'is not a URL', 'use redis://host:port');
    expect(error.message).toBe('url is not a URL: use redis://host:port');
  });

  it('given as an option’s value shows in no message', () => {
    const error = new OptionError(
      'url',
      'http://me:hunter2@h',
      'has an unknown scheme',
      'use redis://',
    );
    expect(inspect(error)).not.toContain('hunter2');
  });
});

describe('an option error', () => {
  it('names the option, a short form of the value, and the remedy', () => {
    const error = new OptionError(
      'name',
      'x'.repeat(1_000),
      'is too long',
      'use at most 255 bytes',
    );
    expect(error).toMatchObject({
      code: 'TENURE_BAD_OPTION',
      option: 'name',
      remedy: 'use at most 255 bytes',
    });
    expect(error.message.length).toBeLessThan(200);
    expect(error.message).toContain('1000 characters');
  });
});

describe('a stale term error', () => {
  it('tells a newer term from the same term in other hands', () => {
    expect(new StaleTermError('payments', 7, 9).message).toContain('term 9 is installed');
    expect(new StaleTermError('payments', 7, 7).message).toContain('another incarnation');
  });
});
