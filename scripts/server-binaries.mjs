/** Where the servers that the tests talk to are installed, if they are, and the compiler for what is put under them. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync } from 'node:fs';
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
  return [...fromEnvironment, '/usr/local/bin', '/usr/bin'];
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
export function findRedisServer() {
  return searchPath()
    .map((folder) => join(folder, 'redis-server'))
    .find(isExecutable);
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
