import type {} from 'vitest';
import type { TestProject } from 'vitest/node';
import { startPostgres } from './postgres.js';
import { startRedis } from './redis.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** One Redis that all test files share: use a namespace of your own in it. */
    redisUrl: string;
    /** One PostgreSQL that all test files share: use `freshPostgresDatabase` with it. */
    postgresUrl: string;
  }
}

/** One server of each kind for the whole run, started side by side. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [redis, postgres] = await Promise.allSettled([startRedis(), startPostgres()]);
  const started = [redis, postgres].flatMap((one) =>
    one.status === 'fulfilled' ? [one.value] : [],
  );
  const stopAll = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.stop()));
  };
  if (redis.status === 'rejected' || postgres.status === 'rejected') {
    await stopAll();
    throw redis.status === 'rejected' ? redis.reason : (postgres as PromiseRejectedResult).reason;
  }
  project.provide('redisUrl', redis.value.url);
  project.provide('postgresUrl', postgres.value.url);
  return stopAll;
}
