import { etcdCoordinator } from '../../src/etcd.js';
import { migratePostgres, postgresCoordinator } from '../../src/postgres.js';
import { startEtcd, startPostgres } from '../support/servers/index.js';
import { registerCauses, type Server } from './server-causes.js';

async function postgres(): Promise<Server> {
  const server = await startPostgres({ fsync: false });
  await migratePostgres(server.url);
  return {
    ...server,
    kill: () => server.kill(),
    coordinator(namespace, port = server.port) {
      const url = new URL(server.url);
      url.port = String(port);
      return postgresCoordinator(url, { namespace, connectTimeoutMs: 1_000 });
    },
  };
}

async function etcd(): Promise<Server> {
  const cluster = await startEtcd();
  const [member] = cluster.members;
  if (member === undefined) throw new Error('there is one member');
  return {
    port: member.port,
    coordinator: (namespace, port = member.port) =>
      etcdCoordinator(`etcd://127.0.0.1:${port}`, { namespace }),
    kill: () => member.kill(),
    restart: () => member.restart({ keepData: true }),
    stop: () => cluster.stop(),
  };
}

// A renewal is one round trip there, and two of etcd.
registerCauses('PostgreSQL', { start: postgres, tightMs: 180 });
registerCauses('etcd', { start: etcd, tightMs: 110 });
