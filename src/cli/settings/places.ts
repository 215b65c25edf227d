import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Surroundings } from './setting.js';

/** Where the store of this user is that needs no server. */
export function defaultStorePath(surroundings: Surroundings): string {
  return join(folderOf(surroundings, 'XDG_STATE_HOME', '.local/state'), 'tenure', 'tenure.db');
}

export function userConfigPath(surroundings: Surroundings): string {
  return join(folderOf(surroundings, 'XDG_CONFIG_HOME', '.config'), 'tenure', 'config.json');
}

/** As the XDG base directory specification says, a relative path in these variables counts as none. */
function folderOf(surroundings: Surroundings, variable: string, inHome: string): string {
  const folder = surroundings.environment[variable] ?? '';
  return isAbsolute(folder) ? folder : join(homeOf(surroundings), inHome);
}

export function homeOf({ environment }: Surroundings): string {
  return environment.HOME || homedir();
}
