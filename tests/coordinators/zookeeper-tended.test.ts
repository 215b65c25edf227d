import { expect, it } from 'vitest';
import type { LeaseSession } from '../../src/coordinators/zookeeper/sessions.js';
import { TendedNodes } from '../../src/coordinators/zookeeper/tended.js';
import { VirtualRuntime } from '../../src/testing.js';

const ttlMs = 5_000;

function scene() {
  const runtime = new VirtualRuntime();
  const due: string[] = [];
  const tended = new TendedNodes(runtime, (nodes) => due.push(...nodes.map(({ path }) => path)));
  const session = { ttlMs, count: 0 } as LeaseSession;
  const parts = { kind: 'lease', name: 'job', session, ttlMs, modifiedZxid: 7 } as const;
  tended.tend({ ...parts, path: '/lease' });
  return { runtime, tended, due };
}

it('a lease is over a ttl after its last renewal, and its process is told to end it', async () => {
  const { runtime, tended, due } = scene();
  await runtime.advance(ttlMs - 1);
  expect(tended.isOverdue('/lease', 7)).toBe(false);
  await runtime.advance(1);
  expect(tended.isOverdue('/lease', 7)).toBe(true);
  expect(due).toEqual(['/lease']);
});

it('the time in which the machine is suspended counts', () => {
  const { runtime, tended } = scene();
  runtime.suspend(ttlMs);
  expect(tended.isOverdue('/lease', 7)).toBe(true);
});

it('a lease that somebody else has written to since is not over', async () => {
  const { runtime, tended } = scene();
  await runtime.advance(ttlMs);
  expect(tended.isOverdue('/lease', 8)).toBe(false);
});
