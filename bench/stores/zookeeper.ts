import { once } from 'node:events';
import zookeeper from 'node-zookeeper-client';
import { type Reference, renewedNames, ttlMs } from './reference.js';

export async function zookeeperReference(url: string): Promise<Reference> {
  const address = url.slice('zookeeper://'.length);
  const client = zookeeper.createClient(address, { sessionTimeout: ttlMs });
  client.connect();
  await once(client, 'connected');
  const call = (act: (done: (error: Error | zookeeper.Exception | null) => void) => void) =>
    new Promise<void>((resolve, reject) => {
      act((error) => (error ? reject(error) : resolve()));
    });
  const { EPHEMERAL } = zookeeper.CreateMode;
  const take = (name: string) =>
    call((done) => client.create(`/raw/${name}`, Buffer.from('holder'), EPHEMERAL, done));
  await call((done) => client.mkdirp('/raw', done));
  for (const name of renewedNames) await take(name);
  return {
    async pair(name) {
      await take(name);
      await call((done) => client.remove(`/raw/${name}`, -1, done));
    },
    pairIs:
      'node-zookeeper-client: an ephemeral node is created and removed; no term that is read, no history, candidates or waking',
    async renew() {
      await Promise.all(
        renewedNames.map((name) => call((done) => client.exists(`/raw/${name}`, done))),
      );
    },
    renewIs:
      'node-zookeeper-client: whether each of 256 nodes is there, all asked at once (its session renews itself)',
    async close() {
      client.close();
    },
  };
}
