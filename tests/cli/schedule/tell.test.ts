import { expect, it } from 'vitest';
import { tellOf } from '../../../src/cli/schedule/tell.js';
import type { Voice } from '../../../src/cli/supervise/voice.js';
import type { Emitter } from '../../../src/events/index.js';
import { Schedule, type ScheduleEvents } from '../../../src/schedule/index.js';
import { memoryJobs } from '../../../src/schedule/memory/index.js';

it('tenure schedule says that whoever leads does not run its jobs, and what to do', async () => {
  const store = memoryJobs();
  const schedule = new Schedule(store, { id: 'a' });
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  tellOf(schedule, { say, sayOnce: say } as unknown as Voice, AbortSignal.abort());
  const events = schedule.events as Emitter<ScheduleEvents>;
  events.emit('leftOut', { election: 'schedule', leaderId: 'billing@x', jobs: ['mails', 'books'] });
  expect(said).toEqual([
    'waiting, and billing@x leads schedule and does not run mails, books: if this is no deploy under way, give each application a name of its own with --name',
  ]);
  await schedule.close();
  await store.close();
});
