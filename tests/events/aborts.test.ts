import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { onAbort } from '../../src/events/index.js';

describe('listening for the abort of a signal', () => {
  it('tells everybody, in order, with one listener on the signal', () => {
    const controller = new AbortController();
    const told: number[] = [];
    for (let index = 0; index < 30; index++) onAbort(controller.signal, () => told.push(index));
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort();
    expect(told).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  it('tells nobody who has left, and the same function as often as it was passed', () => {
    const controller = new AbortController();
    let count = 0;
    const callback = () => count++;
    onAbort(controller.signal, callback);
    const leave = onAbort(controller.signal, callback);
    onAbort(controller.signal, callback);
    leave();
    leave();
    controller.abort();
    expect(count).toBe(2);
  });

  it('says nothing of a signal that has aborted before, or of none', () => {
    const told = () => expect.fail('it should not be told');
    onAbort(AbortSignal.abort(), told)();
    onAbort(undefined, told)();
  });

  it('leaves nothing on the signal when everybody has left, and listens again for the next', () => {
    const controller = new AbortController();
    const { signal } = controller;
    for (let index = 0; index < 100; index++) onAbort(signal, () => {})();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    let count = 0;
    onAbort(signal, () => count++);
    controller.abort();
    expect(count).toBe(1);
  });
});
