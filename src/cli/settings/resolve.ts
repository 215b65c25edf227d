import { OptionError } from '../../errors/index.js';
import { type ConfigFile, findConfigFile } from './config-file.js';
import {
  defaultSource,
  type Setting,
  type SettingDefinition,
  type Surroundings,
} from './setting.js';
import { type SettingKey, type SettingValue, settingTable } from './table.js';

/** The flags of a command as the parser gives them: those that were not written are not there. */
export type Flags = Readonly<Record<string, unknown>>;

export type Settings<Key extends SettingKey> = {
  readonly [Each in Key]: Setting<SettingValue<Each>>;
};

/**
 * These settings, each from the first place that says something: flag, environment, config file, default. Only these are
 * looked at, so a bad value of another one harms nobody who does not need it. An empty variable says nothing.
 *
 * @throws {OptionError} naming the flag, the variable, or the file and its key.
 */
export function resolveSettings<Key extends SettingKey>(
  keys: readonly Key[],
  flags: Flags,
  surroundings: Surroundings = ownSurroundings(),
): Settings<Key> {
  const file = findConfigFile(configFlag(flags), surroundings);
  const resolved = keys.map((key) => [key, resolveSetting(key, flags, file, surroundings)]);
  return Object.fromEntries(resolved);
}

/** As {@link resolveSettings}, for one. */
export function resolveSetting(
  key: SettingKey,
  flags: Flags,
  file: ConfigFile | undefined,
  surroundings: Surroundings,
): Setting<unknown> {
  const { text, source } = writtenSetting(key, flags, file, surroundings);
  return { value: settingTable[key].parse(text, source), source };
}

/** What was written for it, not read yet. A secret, if it is a URL. */
export function writtenSetting(
  key: SettingKey,
  flags: Flags,
  file: ConfigFile | undefined,
  surroundings: Surroundings,
): { readonly text: string; readonly source: string } {
  const definition: SettingDefinition<unknown> = settingTable[key];
  const { flag, variable } = definition;
  const written = flags[key];
  if (typeof written === 'string') return { text: written, source: flag };
  const fromVariable = surroundings.environment[variable];
  if (fromVariable) return { text: fromVariable, source: variable };
  const entry = file?.values.get(key);
  if (file !== undefined && entry !== undefined) {
    const meant = definition.fromFile?.(entry, file.folder) ?? entry;
    return { text: meant, source: `${file.path}: ${key}` };
  }
  return { text: definition.defaultText(surroundings), source: defaultSource };
}

export function configFlag(flags: Flags): string | undefined {
  return typeof flags.config === 'string' ? flags.config : undefined;
}

export function ownSurroundings(): Surroundings {
  return { environment: process.env, workingFolder: workingFolder() };
}

/** @throws {OptionError} if it was removed under us, which Node calls an error of its own. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    const problem = 'is not there any more';
    throw new OptionError('the working folder', undefined, problem, 'change to one that exists');
  }
}
