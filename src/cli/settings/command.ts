import type { Command } from 'commander';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { outputOption } from '../output-option.js';
import type { Wiring } from '../session.js';
import type { Terminal } from '../terminal.js';
import { hang } from '../wrap.js';
import { findConfigFile } from './config-file.js';
import { addSettings } from './options.js';
import { configFlag, type Flags, ownSurroundings, resolveSetting } from './resolve.js';
import type { SettingDefinition } from './setting.js';
import { type SettingKey, settingKeys, settingTable } from './table.js';

/** `tenure config`. */
export function addConfig(program: Command, { terminal, run }: Wiring): void {
  const command = program
    .command('config')
    .summary('show every setting and where it comes from')
    .description(
      'Shows the value of every setting and which of its places it comes from: flag, environment, config file or default, the first that says something. Without passwords. Exits with 1 if one of them cannot be used.',
    )
    .addOption(outputOption(['text', 'json']));
  addSettings(command, settingKeys).addHelpText(
    'after',
    `
The config file is JSON, with settings for keys and texts for values. It is the
one that --config or TENURE_CONFIG names, else ./tenure.json, else
$XDG_CONFIG_HOME/tenure/config.json (~/.config/tenure/config.json).

Examples:
  tenure config
  TENURE_URL=redis://localhost tenure config -o json
`,
  );
  command.action((flags: Flags & { output: 'text' | 'json' }) =>
    run('config', [], async () => {
      const found = lookUpAll(flags);
      if (flags.output === 'json') {
        const settings = Object.fromEntries(found.map(({ key, ...rest }) => [key, rest]));
        terminal.print(jsonText(settings, 2));
      } else {
        const rows = found.map(({ key, value, source, problem }) => [
          key,
          visible(problem === null ? (value ?? '') : '-'),
          visible(source ?? '-'),
          settingTable[key].variable,
        ]);
        printTable(terminal, ['SETTING', 'VALUE', 'FROM', 'VARIABLE'], rows);
        for (const { problem } of found) if (problem !== null) complain(terminal, problem);
      }
      return found.every(({ problem }) => problem === null);
    }),
  );
}

function complain(terminal: Terminal, problem: string): void {
  terminal.note(hang(`tenure config: ${visible(problem)}`, terminal.noteColumns, '  '));
}

interface Found {
  readonly key: SettingKey;
  readonly value: string | null;
  readonly source: string | null;
  readonly problem: string | null;
}

/** Every setting, also if others cannot be used. @throws {OptionError} if the config file cannot. */
function lookUpAll(flags: Flags): Found[] {
  const surroundings = ownSurroundings();
  const file = findConfigFile(configFlag(flags), surroundings);
  return settingKeys.map((key) => {
    const definition: SettingDefinition<unknown> = settingTable[key];
    try {
      const { value, source } = resolveSetting(key, flags, file, surroundings);
      return { key, value: definition.show?.(value) ?? String(value), source, problem: null };
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      return { key, value: null, source: null, problem };
    }
  });
}
