import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readTextFile } from '../../drivers/text-file.js';
import { OptionError } from '../../errors/index.js';
import { userConfigPath } from './places.js';
import type { Surroundings } from './setting.js';
import { settingKeys } from './table.js';

/** A JSON object whose keys are settings and whose values are texts, as they would be written on the command line. */
export interface ConfigFile {
  /** As it is shown. */
  readonly path: string;
  /** Absolute: where relative paths in it begin. */
  readonly folder: string;
  readonly values: ReadonlyMap<string, string>;
}

const variable = 'TENURE_CONFIG';
const inWorkingFolder = 'tenure.json';

/**
 * The one config file that counts: the named one, else `./tenure.json`, else the user's. They are not merged.
 *
 * @throws {OptionError} if a named file cannot be read, or the file is not what one looks like.
 */
export function findConfigFile(
  named: string | undefined,
  surroundings: Surroundings,
): ConfigFile | undefined {
  const { environment, workingFolder } = surroundings;
  const fromVariable = environment[variable] || undefined;
  const explicit = named ?? fromVariable;
  if (explicit !== undefined) {
    const source = named === undefined ? variable : '--config';
    return readConfigFile(explicit, resolve(workingFolder, explicit), source);
  }
  const found = [join(workingFolder, inWorkingFolder), userConfigPath(surroundings)].find((path) =>
    existsSync(path),
  );
  if (found === undefined) return undefined;
  const path = dirname(found) === workingFolder ? `./${inWorkingFolder}` : found;
  return readConfigFile(path, found, path);
}

/** @param source what named the file. */
function readConfigFile(path: string, absolute: string, source: string): ConfigFile {
  const remedy = 'name a JSON file that can be read, or leave it out';
  const text = readTextFile(source, absolute, remedy, path);
  const content = parseJson(text, path);
  const values = new Map<string, string>();
  for (const [key, value] of Object.entries(content)) {
    values.set(key, checkEntry(key, value, path));
  }
  return { path, folder: dirname(absolute), values };
}

function parseJson(text: string, path: string): Record<string, unknown> {
  const remedy = `use a JSON object of texts, such as {"url": "redis://localhost", "ttl": "30s"}`;
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    // What the parser says quotes the text, and that may hold a password.
    throw new OptionError(path, `${text.length} characters`, 'is not JSON', remedy);
  }
  if (typeof content === 'object' && content !== null && !Array.isArray(content))
    return content as Record<string, unknown>;
  throw new OptionError(path, content, 'is not a JSON object', remedy);
}

function checkEntry(key: string, value: unknown, path: string): string {
  if (!settingKeys.includes(key as never)) {
    const remedy = `use ${settingKeys.slice(0, -1).join(', ')} or ${settingKeys.at(-1)}`;
    // Its value may be anything, also a password.
    throw new OptionError(`${path}: ${key}`, 'hidden', 'is no setting', remedy);
  }
  if (typeof value !== 'string')
    throw new OptionError(`${path}: ${key}`, value, 'is not a text', 'put it in quotes');
  // What an escape can write, and no system takes.
  if (!value.includes('\0') && !/\p{Cs}/u.test(value)) return value;
  const problem = 'holds a zero byte, or half a character';
  throw new OptionError(`${path}: ${key}`, 'hidden', problem, 'leave it out');
}
