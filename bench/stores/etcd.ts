import { Agent, request } from 'node:http';
import { type Reference, renewedNames, ttlMs } from './reference.js';

const encoded = (text: string) => Buffer.from(text).toString('base64');

export async function etcdReference(url: string): Promise<Reference> {
  const agent = new Agent({ keepAlive: true });
  const [host = '', port = ''] = url.slice('etcd://'.length).split(',')[0]?.split(':') ?? [];
  const post = (path: string, body: object) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const call = request({ host, port, path, agent, method: 'POST' }, (reply) => {
        let text = '';
        reply.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        reply.on('end', () => resolve(JSON.parse(text)));
      });
      call.on('error', reject).end(JSON.stringify(body));
    });
  const { ID: lease } = await post('/v3/lease/grant', { TTL: String(ttlMs / 1_000) });
  const take = (name: string) =>
    post('/v3/kv/txn', {
      compare: [
        { key: encoded(`raw/${name}`), target: 'CREATE', result: 'EQUAL', create_revision: '0' },
      ],
      success: [{ request_put: { key: encoded(`raw/${name}`), value: encoded('holder'), lease } }],
    });
  for (const name of renewedNames) await take(name);
  return {
    async pair(name) {
      await take(name);
      await post('/v3/kv/deleterange', { key: encoded(`raw/${name}`) });
    },
    pairIs:
      'the JSON gateway over one keep-alive agent: a transaction that creates a key on a store lease that is there, and a delete; no history, candidates or waking',
    async renew() {
      await Promise.all([
        post('/v3/lease/keepalive', { ID: lease }),
        post('/v3/kv/range', {
          key: encoded('raw/held-'),
          range_end: encoded('raw/held.'),
          keys_only: true,
        }),
      ]);
    },
    renewIs:
      'the JSON gateway: one keep-alive of a store lease, and one range that shows its 256 keys',
    async close() {
      await post('/v3/lease/revoke', { ID: lease });
      agent.destroy();
    },
  };
}
