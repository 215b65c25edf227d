import { describe, expect, it, vi } from 'vitest';
import { Gate } from '../../src/cli/embedded/gate.js';
import { gated } from '../../src/cli/embedded/gated.js';
import { realRuntime, sleep } from '../../src/time/index.js';

const settled = () => sleep(realRuntime, 30);

describe('an embedded process', () => {
  it('runs like any other until something befalls it', async () => {
    const gate = new Gate();
    const echo = gated({ say: async (text: string) => text }, gate);
    expect(await echo.say('hello')).toBe('hello');
    await sleep(gate.runtime, 5);
  });

  it('stands still while it is frozen: due timers fire at the thaw, in their order, before answers', async () => {
    const gate = new Gate();
    const happened: string[] = [];
    const target = gated({ ask: async () => sleep(realRuntime, 5) }, gate);
    void target.ask().then(() => happened.push('answer'));
    gate.runtime.setTimer(10, () => happened.push('second'));
    gate.runtime.setTimer(5, () => happened.push('first'));
    await Promise.resolve();
    gate.freeze();
    await settled();
    expect(happened).toEqual([]);
    gate.thaw();
    await settled();
    expect(happened).toEqual(['first', 'second', 'answer']);
  });

  it('sends nothing while it is frozen', async () => {
    const gate = new Gate();
    const send = vi.fn(async () => {});
    gate.freeze();
    const sent = gated({ send }, gate).send();
    await settled();
    expect(send).not.toHaveBeenCalled();
    gate.thaw();
    await sent;
    expect(send).toHaveBeenCalledOnce();
  });

  it('is told when it is called, by what takes a listener back at once', () => {
    const gate = new Gate();
    const unsubscribe = () => {};
    const queue = { onCalled: (_holder: string, _called: () => void) => unsubscribe };
    expect(gated(queue, gate).onCalled('me', () => {})).toBe(unsubscribe);
  });

  it('hears of events only while it runs', async () => {
    const gate = new Gate();
    const heard: string[] = [];
    let ring: (text: string) => void = () => {};
    const bell = {
      watch(listener: (text: string) => void) {
        ring = listener;
      },
    };
    gated(bell, gate).watch((text) => heard.push(text));
    ring('awake');
    gate.freeze();
    ring('asleep');
    expect(heard).toEqual(['awake']);
    gate.thaw();
    await settled();
    expect(heard).toEqual(['awake', 'asleep']);
  });

  it('does nothing any more after a kill', async () => {
    const gate = new Gate();
    const happened: string[] = [];
    gate.runtime.setTimer(5, () => happened.push('timer'));
    gate.kill();
    gate.thaw();
    gate.runtime.setTimer(5, () => happened.push('late timer'));
    void gate.pass().then(() => happened.push('answer'));
    await settled();
    expect(happened).toEqual([]);
  });

  it('leaves a cancelled timer cancelled, also one that was due while it was frozen', async () => {
    const gate = new Gate();
    const fired = vi.fn();
    const timer = gate.runtime.setTimer(1, fired);
    gate.freeze();
    await settled();
    timer.cancel();
    gate.thaw();
    await settled();
    expect(fired).not.toHaveBeenCalled();
  });
});
