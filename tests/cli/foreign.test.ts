import { describe, expect, it } from 'vitest';
import { reportFailure } from '../../src/cli/failure.js';
import { badRecord, badSuspension } from '../../src/coordinators/redis/answers.js';
import { RecordCorruptError } from '../../src/errors/index.js';
import { RecordingTerminal } from './session.js';

function nextAfter(error: Error, url: string): string {
  const terminal = new RecordingTerminal();
  expect(reportFailure(terminal, 'who', error, [url])).toBe(78);
  return terminal.noteText;
}

describe('what is not ours under one of our names', () => {
  const key = '{tenure:team%2Fa}:lease:job';
  const redis = 'redis://:secret@h';

  it('is told with its key, and how to look at it and remove it', () => {
    const text = nextAfter(badRecord('under "job"', key), redis);
    expect(text.replace(/\s+/g, ' ')).toContain(`under "job" (the key "${key}") is no record`);
    expect(text).toContain(`next:    redis-cli -u redis://h --askpass TYPE '${key}'\n`);
    expect(text).toContain(`redis-cli -u redis://h --askpass DEL '${key}'`);
  });

  it('is one field where others have theirs beside it, which stay', () => {
    const text = nextAfter(badSuspension('job', '{tenure:a}:suspended'), redis);
    expect(text).toContain(`redis-cli -u redis://h --askpass HDEL '{tenure:a}:suspended' job`);
    expect(text).not.toContain(' DEL ');
  });

  it('is a row in a file', () => {
    const error = new RecordCorruptError('the text under "job" is no record of a lease.');
    const text = nextAfter(error, 'sqlite:/x.db');
    expect(text).toContain(`sqlite3 /x.db 'SELECT * FROM lease WHERE name = '\\''job'\\'''`);
    expect(text).toContain('against: sqlite:/x.db');
  });
});
