/** A store's module for a renewing thread, which crashes in its first renewal. */
import { redisCoordinator } from 'tenure/redis';

/** @param {Parameters<typeof redisCoordinator>} args */
export function crashing(...args) {
  const coordinator = redisCoordinator(...args);
  coordinator.renew = async () => {
    setImmediate(() => {
      throw new Error('a bug in a client');
    });
    return new Promise(() => undefined);
  };
  return coordinator;
}
