/**
 * Makes sure that the servers the tests need, and a C compiler, are installed. A test that cannot reach
 * its store has failed, so a missing one ends the run; it is never a reason to skip.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fail, say } from './bootstrap.mjs';
import {
  findCompiler,
  findEtcd,
  findEtcdctl,
  findIp,
  findJava,
  findMariaDb,
  findOpenssl,
  findPgBouncer,
  findPostgresFolder,
  findPromtool,
  findRedisSentinel,
  findRedisServer,
  findSpin,
  findZooKeeperJar,
} from './server-binaries.mjs';
import { knownStores } from './stores.mjs';

/** What must be found, the Debian packages that have it, and the only store that needs it, if it is one. */
const needed = [
  { find: findRedisServer, packages: ['redis-server'] },
  { find: findRedisSentinel, packages: ['redis-sentinel'], store: 'redis-sentinel' },
  { find: findPostgresFolder, packages: ['postgresql'] },
  { find: findPgBouncer, packages: ['pgbouncer'], store: 'postgres' },
  { find: findMariaDb, packages: ['mariadb-server'] },
  { find: findEtcd, packages: ['etcd-server'], store: 'etcd' },
  { find: findEtcdctl, packages: ['etcd-client'], store: 'etcd' },
  { find: findZooKeeperJar, packages: ['zookeeper'], store: 'zookeeper' },
  { find: findJava, packages: ['default-jre-headless'], store: 'zookeeper' },
  // For the certificates of servers that speak TLS.
  { find: findOpenssl, packages: ['openssl'] },
  // For the alert rules, and for the model of the protocol.
  { find: findPromtool, packages: ['prometheus'] },
  { find: findSpin, packages: ['spin'] },
  { find: findIp, packages: ['iproute2'] },
  // For the clock that some tests put under a server.
  { find: findCompiler, packages: ['gcc', 'libc6-dev'] },
];

/** @param {readonly string[]} stores */
function missingPackages(stores) {
  return needed
    .filter(({ store }) => store === undefined || stores.includes(store))
    .filter(({ find }) => !find())
    .flatMap(({ packages }) => packages);
}

/** @param {readonly string[]} names */
function listed(names) {
  return [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part).join(' and ');
}

/** @param {string[]} command */
function succeeds(command) {
  const [program = '', ...args] = command;
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

/** @returns {string[] | undefined} what to put before a command that needs root */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  if (succeeds(['sudo', '-n', 'true'])) return ['sudo', '-n'];
  return undefined;
}

/** @param {readonly string[]} stores those that are to be tested */
export function ensureServers(stores = knownStores) {
  const missing = missingPackages(stores);
  if (missing.length === 0) return;

  const byHand = `apt-get update && apt-get install --no-install-recommends ${missing.join(' ')}`;
  const needs = `the tests need ${listed(missing)}, which this machine does not have`;
  if (!succeeds(['apt-get', '--version'])) {
    fail(`${needs}; install it (on Debian, as root: ${byHand}) and run this again`);
  }
  const prefix = rootPrefix();
  if (!prefix) {
    fail(`${needs}, and this user may not install it. As root, run: ${byHand}`);
  }

  say(`installing ${listed(missing)} with apt-get; no service will be started`);
  const script = join(import.meta.dirname, 'install-debian-packages.sh');
  const [program = '', ...args] = [...prefix, 'sh', script, ...missing];
  const { status } = spawnSync(program, args, { stdio: [0, 2, 2] });
  const still = missingPackages(stores);
  if (status !== 0 || still.length > 0) {
    fail(`could not install ${listed(still.length > 0 ? still : missing)}: ${byHand}`);
  }
}
