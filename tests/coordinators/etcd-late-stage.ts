import { afterAll, beforeAll } from 'vitest';
import { type EtcdCoordinator, etcdCoordinator } from '../../src/etcd.js';
import { Gateway } from '../drivers/etcd/gateway.js';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { Actor } from './etcd-stage.js';

export type Stage = Awaited<ReturnType<ReturnType<typeof useEtcd>['stage']>>;

/** A cluster for the tests of a file. */
export function useEtcd() {
  let started: EtcdCluster | undefined;
  const clients: EtcdCoordinator[] = [];
  const gateways: Gateway[] = [];
  const cluster = () => started as EtcdCluster;

  beforeAll(async () => {
    started = await startEtcd();
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    for (const gateway of gateways) gateway.stop();
    await started?.stop();
  });

  /** Two who meet in a namespace of their own, the first behind a gateway. */
  async function stage() {
    const gateway = await Gateway.start(cluster().members[0]?.port ?? 0);
    gateways.push(gateway);
    const namespace = `late-${gateways.length}`;
    const actor = (id: string, url: string) => {
      const client = etcdCoordinator(url, { namespace });
      clients.push(client);
      return new Actor(client, id);
    };
    const direct = cluster().url.replace('etcd://', '');
    const [ann, bob] = [actor('ann', gateway.url), actor('bob', cluster().url)];
    const twoWays = () => actor('ann', `${gateway.url},${direct}`);
    return { gateway, namespace, ann, bob, twoWays };
  }

  return {
    stage,
    get cluster() {
      return cluster();
    },
  };
}

export const keepAlive = '/v3/lease/keepalive';
export const isDeletion = (body: string) =>
  /request_delete_range/.test(body) && !/request_put/.test(body);

export const isEnd = (body: string) => /request_delete_range/.test(body);
