/** A store's module for a renewing thread which never reaches its store. */
import { UnreachableError } from 'tenure';
import { redisCoordinator } from 'tenure/redis';

/** @param {Parameters<typeof redisCoordinator>} args */
export function cutOff(...args) {
  return Object.assign(redisCoordinator(...args), {
    renew: async () => {
      throw new UnreachableError('the network is gone');
    },
  });
}
