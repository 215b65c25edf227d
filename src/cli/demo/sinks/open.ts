import { checkMemoryUrl, schemeOf, unknownScheme } from '../../store-url.js';
import type { Sink } from '../sink.js';
import { memorySink } from './memory.js';

const knownUrls =
  'use memory: or postgres://host:port/database, with user:password and an @ before the host if it needs them';

/** Loads the driver that the URL asks for, and no other. @throws {OptionError} and the errors of the database. */
export async function createSink(url: string, runId: string): Promise<Sink> {
  switch (schemeOf(url, '--sink', knownUrls)) {
    case 'memory:':
      checkMemoryUrl(url, '--sink', knownUrls);
      return memorySink();
    case 'postgres:':
    case 'postgresql:': {
      const { createPostgresSink } = await import('./postgres.js');
      return await createPostgresSink(url, runId);
    }
    default:
      throw unknownScheme('--sink', url, knownUrls);
  }
}
