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
  findJava,
  findOpenssl,
  findPgBouncer,
  findPostgresFolder,
  findRedisSentinel,
  findRedisServer,
  findZooKeeperJar,
} from './server-binaries.mjs';

/** What must be found, and the Debian packages that have it. */
const needed = [
  { find: findRedisServer, packages: ['redis-server'] },
  { find: findRedisSentinel, packages: ['redis-sentinel'] },
  { find: findPostgresFolder, packages: ['postgresql'] },
  { find: findPgBouncer, packages: ['pgbouncer'] },
  { find: findEtcd, packages: ['etcd-server'] },
  { find: findEtcdctl, packages: ['etcd-client'] },
  { find: findZooKeeperJar, packages: ['zookeeper'] },
  { find: findJava, packages: ['default-jre-headless'] },
  // For the certificates of servers that speak TLS.
  { find: findOpenssl, packages: ['openssl'] },
  // For the clock that some tests put under a server.
  { find: findCompiler, packages: ['gcc', 'libc6-dev'] },
];

function missingPackages() {
  return needed.filter(({ find }) => !find()).flatMap(({ packages }) => packages);
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

export function ensureServers() {
  const missing = missingPackages();
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
  const still = missingPackages();
  if (status !== 0 || still.length > 0) {
    fail(`could not install ${listed(still.length > 0 ? still : missing)}: ${byHand}`);
  }
}
