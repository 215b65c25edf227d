import { redisPromises } from '../../coordinators/redis/promises.js';
import type { Examination, Purpose } from '../finding.js';
import { examineCluster } from './cluster.js';
import { Places } from './places.js';
import { examineNodes } from './quorum.js';
import { furtherRights, leastRights } from './rights.js';
import { examineSentinels } from './sentinels.js';
import { type Inspected, inspect } from './server.js';
import type { Shape } from './shape.js';

/** What a user of the doctor's needs besides. */
const looks: Readonly<Record<Shape, readonly string[]>> = {
  single: ['config|get'],
  sentinel: ['config|get'],
  cluster: ['config|get', 'cluster|info'],
  quorum: ['config|get'],
};

/**
 * Looks at what a `redis://`, `redis+sentinel://` or `redis+cluster://` URL leads to. Changes nothing there.
 *
 * @throws {OptionError} for a URL that cannot be used, or without the package `ioredis`. @throws {TenureError} if nothing
 * answers, or lets nobody in.
 */
export async function examineRedis(url: string, purpose: Purpose): Promise<Examination> {
  const places = new Places(url);
  const { topology } = places.url;
  return withRights(topology, purpose, await examined(places, purpose));
}

/** As {@link examineRedis}, for each server of a `redis+quorum://` URL. */
export async function examineQuorum(url: string, purpose: Purpose): Promise<Examination> {
  return withRights('quorum', purpose, await examineNodes(url, purpose));
}

async function examined(places: Places, purpose: Purpose): Promise<Inspected> {
  const { url } = places;
  switch (url.topology) {
    case 'single': {
      const { findings } = await inspect(places.single, 'single', redisPromises, purpose);
      return { promises: redisPromises, findings };
    }
    case 'sentinel':
      return await examineSentinels(places, url.sentinels, url.masterName, purpose);
    case 'cluster':
      return await examineCluster(places, url.nodes, purpose);
  }
}

function withRights(shape: Shape, { namespace }: Purpose, inspected: Inspected): Examination {
  return {
    ...inspected,
    leastRights: leastRights(shape, namespace, looks[shape]),
    furtherRights: furtherRights(shape, namespace),
  };
}
