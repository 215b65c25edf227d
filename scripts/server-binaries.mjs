/** Where the servers that the tests talk to are installed, if they are, and the compiler for what is put under them. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function searchPath() {
  const fromEnvironment = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder);
  // The path of a plain user leaves out where Debian keeps PgBouncer.
  return [...fromEnvironment, '/usr/local/bin', '/usr/bin', '/usr/local/sbin', '/usr/sbin'];
}

/** @param {string} name */
function findProgram(name) {
  return searchPath()
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

/** Debian keeps one folder per PostgreSQL version off the path; the newest one first. */
function debianPostgresFolders() {
  const parent = '/usr/lib/postgresql';
  try {
    return readdirSync(parent)
      .sort((a, b) => Number.parseFloat(b) - Number.parseFloat(a))
      .map((version) => join(parent, version, 'bin'));
  } catch {
    return [];
  }
}

/** @returns {string | undefined} the path of `redis-server` */
export const findRedisServer = () => findProgram('redis-server');

/** @returns {string | undefined} the path of `redis-sentinel` */
export const findRedisSentinel = () => findProgram('redis-sentinel');

/** @returns {string | undefined} the path of `etcd` */
export const findEtcd = () => findProgram('etcd');

/** @returns {string | undefined} the path of `etcdctl` */
export const findEtcdctl = () => findProgram('etcdctl');

/** @returns {string | undefined} the path of `pgbouncer` */
export const findPgBouncer = () => findProgram('pgbouncer');

/** @returns {string | undefined} the path of `mariadbd` */
export const findMariaDb = () => findProgram('mariadbd');

/** @returns {string | undefined} the path of `mariadb-install-db` */
export const findMariaDbInstall = () => findProgram('mariadb-install-db');

/** @returns {string | undefined} the path of `openssl`, which makes the certificates of the tests */
export const findOpenssl = () => findProgram('openssl');

/** @returns {string | undefined} the path of `promtool`, which checks the alert rules */
export const findPromtool = () => findProgram('promtool');

/** @returns {string | undefined} the path of `ip`, which cuts servers off from each other in chaos runs */
export const findIp = () => findProgram('ip');

/** @returns {string | undefined} the path of `spin`, which checks the model */
export const findSpin = () => findProgram('spin');

/** @returns {string | undefined} the path of a Java virtual machine */
export const findJava = () => findProgram('java');

/** @returns {string | undefined} ZooKeeper as Debian's package has it; the archive names those that it needs itself */
export function findZooKeeperJar() {
  return ['/usr/share/java/zookeeper.jar'].find((path) => existsSync(path));
}

/** @returns {string | undefined} the folder that has both `initdb` and `postgres` */
export function findPostgresFolder() {
  return [...debianPostgresFolders(), ...searchPath()].find(
    (folder) => isExecutable(join(folder, 'initdb')) && isExecutable(join(folder, 'postgres')),
  );
}

/** @returns {string | undefined} the path of a C compiler that finds the headers of the C library */
export function findCompiler() {
  const input = '#include <time.h>\n';
  return searchPath()
    .map((folder) => join(folder, 'gcc'))
    .find((path) => isExecutable(path) && spawnSync(path, ['-E', '-'], { input }).status === 0);
}
