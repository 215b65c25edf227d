import type { Command } from 'commander';
import type { SettingDefinition } from './setting.js';
import { type SettingKey, settingTable } from './table.js';

/** Adds the flags of these settings, and `--config`, to a command. Their values: {@link resolveSettings}. */
export function addSettings(command: Command, keys: readonly SettingKey[]): Command {
  for (const key of keys) {
    const definition: SettingDefinition<unknown> = settingTable[key];
    const { flag, placeholder, meaning } = definition;
    const byDefault = definition.defaultInWords ?? plainDefault(definition);
    command.option(`${flag} ${placeholder}`, `${meaning} (default: ${byDefault})`);
  }
  return command.option('--config <file>', 'read settings from this JSON file');
}

/** Defaults without words of their own do not depend on where they are asked for. */
function plainDefault(definition: SettingDefinition<unknown>): string {
  return definition.defaultText({ environment: {}, workingFolder: '/' });
}
