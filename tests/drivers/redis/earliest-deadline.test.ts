import { describe, expect, it } from 'vitest';
import { EarliestDeadline } from '../../../src/drivers/redis/earliest-deadline.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';

interface Call {
  readonly name: string;
  readonly deadlineMs: number;
}

function watched() {
  const runtime = new VirtualRuntime();
  const pending = new Set<Call>();
  const missed: string[] = [];
  const deadlines = new EarliestDeadline<Call>(runtime, pending, (call) => {
    missed.push(`${call.name} at ${runtime.now().monotonicMs}`);
    pending.delete(call);
  });
  const ask = (name: string, timeoutMs: number): Call => {
    const nowMs = runtime.now().monotonicMs;
    const call = { name, deadlineMs: nowMs + timeoutMs };
    pending.add(call);
    deadlines.keep(call.deadlineMs, nowMs);
    return call;
  };
  return { runtime, pending, missed, deadlines, ask };
}

describe('the one timer of a socket', () => {
  it('tells of a call at its deadline, though one with a longer time was asked first', async () => {
    const { runtime, missed, ask } = watched();
    ask('patient', 1_000);
    ask('hasty', 100);
    await runtime.advance(100);
    expect(missed).toEqual(['hasty at 100']);
  });

  it('tells of nothing that was answered, and of what was asked after that in its own time', async () => {
    const { runtime, pending, missed, ask } = watched();
    pending.delete(ask('answered', 1_000));
    await runtime.advance(400);
    ask('later', 1_000);
    await runtime.advance(999);
    expect(missed).toEqual([]);
    await runtime.advance(1);
    expect(missed).toEqual(['later at 1400']);
  });

  it('is one, however many wait, and none once it finds that nothing does', async () => {
    const { runtime, pending, ask } = watched();
    const calls = [300, 200, 500, 400].map((timeoutMs) => ask(`of ${timeoutMs} ms`, timeoutMs));
    expect(runtime.pendingTimerCount).toBe(1);
    for (const call of calls) pending.delete(call);
    await runtime.advance(200);
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('is gone with the socket, and set again for what waits on it then', async () => {
    const { runtime, missed, deadlines, ask } = watched();
    ask('of the socket', 100);
    deadlines.stop();
    expect(runtime.pendingTimerCount).toBe(0);
    await runtime.advance(200);
    expect(missed).toEqual([]);
    ask('of now', 300);
    expect(runtime.pendingTimerCount).toBe(1);
  });
});
