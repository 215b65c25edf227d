import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { Emitter } from '../../src/events/index.js';

describe('an emitter', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('a bug in a logger');
      },
    ],
    [
      'is async and rejects',
      async () => {
        throw new Error('a bug in a logger');
      },
    ],
    [
      'returns a promise that is none of this realm and rejects',
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: what is thenable, and no Promise
        then: (_: unknown, reject: (error: Error) => void) =>
          reject(new Error('a bug in a logger')),
      }),
    ],
  ])('warns of a listener that %s, and tells the others', async (_how, listener) => {
    const emitter = new Emitter<{ news: number }>({ news: true });
    const told: number[] = [];
    emitter.on('news', listener);
    emitter.on('news', (news) => told.push(news));
    const warned = once(process, 'warning');
    emitter.emit('news', 7);
    expect(told).toEqual([7]);
    const [warning] = (await warned) as [Error];
    expect(warning.name).toBe('TenureListenerWarning');
    expect(warning.message).toMatch(
      /^a listener for "news" failed: Error: a bug in a logger, at .*emitter\.test\.ts:\d+/,
    );
  });

  it('warns of a listener that throws what is no error, without its text: it may be a payload', async () => {
    const emitter = new Emitter<{ news: number }>({ news: true });
    emitter.on('news', () => {
      throw Object.create(null);
    });
    const warned = once(process, 'warning');
    emitter.emit('news', 7);
    const [warning] = (await warned) as [Error];
    expect(warning.message).toBe(
      'a listener for "news" failed: what was thrown is no error, but a value of type object',
    );
  });

  it('warns once of a listener that fails at each event, and calls it again', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const emitter = new Emitter<{ news: number }>({ news: true });
    const told: number[] = [];
    const failing = (news: number) => {
      told.push(news);
      throw new Error('a bug in a logger');
    };
    emitter.on('news', failing);
    emitter.emit('news', 1);
    emitter.emit('news', 2);
    expect(told).toEqual([1, 2]);
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });

  it('takes nothing but a function, for it would count as one that hears', () => {
    const emitter = new Emitter<{ news: number }>({ news: true });
    expect(() => emitter.on('news', undefined as never)).toThrow(
      "listener is not a function: pass on('news', (event) => { ... })",
    );
    expect(emitter.listenerCount('news')).toBe(0);
  });

  it('counts no listener of our own, also after all were removed', () => {
    const emitter = new Emitter<{ news: number }>({ news: true });
    const end = emitter.overhear('news', () => {});
    expect(emitter.listenerCount('news')).toBe(0);
    emitter.removeAll();
    end();
    expect(emitter.listenerCount('news')).toBe(0);
    emitter.on('news', () => {});
    expect(emitter.listenerCount('news')).toBe(1);
  });
});
