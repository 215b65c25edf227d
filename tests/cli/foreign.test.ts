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
    const place = '(in the namespace "billing")';
    const error = new RecordCorruptError(`the text under "job" ${place} is no record of a lease.`);
    const text = nextAfter(error, 'sqlite:/x.db');
    const where = `FROM lease WHERE namespace = '\\''billing'\\'' AND name = '\\''job'\\''`;
    expect(text).toContain(`sqlite3 /x.db 'SELECT * ${where}'`);
    expect(text).toContain(`sqlite3 /x.db 'DELETE ${where}'`);
    expect(text).toContain('against: sqlite:/x.db');
  });

  it('is that of the namespace that is asked for, whatever its name reads like', () => {
    const name = 'x" (in the namespace "billing") "y';
    const error = new RecordCorruptError(`the text under "${name}" (in the namespace "a") is none`);
    expect(nextAfter(error, 'sqlite:/x.db')).toContain(`WHERE namespace = '\\''a'\\'' AND name = `);
  });

  it('is removed by no name alone, under which other namespaces have their leases', () => {
    const error = new RecordCorruptError('the text under "job" is no record of a lease.');
    expect(nextAfter(error, 'sqlite:/x.db')).not.toContain('DELETE');
  });
});
