import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
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
    expect(warning.message).toBe('a listener for "news" threw: a bug in a logger');
  });

  it('warns of a listener that throws what has no text', async () => {
    const emitter = new Emitter<{ news: number }>({ news: true });
    emitter.on('news', () => {
      throw Object.create(null);
    });
    const warned = once(process, 'warning');
    emitter.emit('news', 7);
    const [warning] = (await warned) as [Error];
    expect(warning.message).toBe('a listener for "news" threw: something that has no text');
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
