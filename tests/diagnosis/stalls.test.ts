import { afterEach, describe, expect, inject, it } from 'vitest';
import { type Diagnosis, diagnose, type Finding } from '../../src/index.js';
import { redisCoordinator } from '../../src/redis.js';
import { LeaderProcess, type LeaderSettings } from './leader-process.js';

const url = inject('redisUrl');
const name = 'payments';
const ttlMs = 900;
let runs = 0;
const processes: LeaderProcess[] = [];

function settings(id = 'replica-1'): LeaderSettings {
  return { url, namespace: `diagnosis-${process.pid}-${runs}`, id, name, ttlMs };
}

function lead(wrapper: readonly string[] = []): LeaderProcess {
  runs += 1;
  const leader = new LeaderProcess(settings(), {}, wrapper);
  processes.push(leader);
  return leader;
}

/** What is said once the leader has told the store what it saw. */
async function diagnosed(): Promise<Diagnosis> {
  const coordinator = redisCoordinator(url, { namespace: settings().namespace });
  try {
    for (;;) {
      const diagnosis = await diagnose({ coordinator, name });
      if (diagnosis.witnessedCount > 0) return diagnosis;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    await coordinator.close();
  }
}

afterEach(async () => {
  for (const leader of processes.splice(0)) await leader.kill();
});

describe('a leader that stood still', () => {
  it('was stopped, if it neither computed nor waited for a processor', async () => {
    const leader = lead();
    await leader.tells('renewed');
    leader.signal('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, ttlMs * 1.5));
    leader.signal('SIGCONT');
    await leader.tells('lost');
    const diagnosis = await diagnosed();
    expect(causeOf(diagnosis)).toMatchObject({ cause: 'process-paused', endingCount: 1 });
  });

  it('was blocked by its own work, if it computed meanwhile', async () => {
    const leader = lead();
    await leader.tells('renewed');
    leader.order('block', { forMs: ttlMs * 1.5 });
    await leader.tells('lost');
    const diagnosis = await diagnosed();
    expect(causeOf(diagnosis)).toMatchObject({ cause: 'loop-blocked', endingCount: 1 });
  });
});

function causeOf({ findings }: Diagnosis): Finding | undefined {
  return findings[0];
}
