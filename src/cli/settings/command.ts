import type { Command } from 'commander';
import { requirePackage } from '../client-package.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { naming, placesIn } from '../naming.js';
import { outputOption } from '../output-option.js';
import { refuseMemory, type Wiring } from '../session.js';
import { storeKindOf } from '../store-url.js';
import { openStores } from '../stores.js';
import type { Terminal } from '../terminal.js';
import { hang } from '../wrap.js';
import { findConfigFile } from './config-file.js';
import { addSettings } from './options.js';
import { configFlag, type Flags, ownSurroundings, writtenSetting } from './resolve.js';
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
      const found = await lookUpAll(flags);
      if (flags.output === 'json') {
        const settings = Object.fromEntries(found.map(({ key, ...rest }) => [key, rest]));
        terminal.print(jsonText(settings, 2));
      } else {
        const rows = found.map(({ key, value, source }) => [
          key,
          visible(value ?? '-'),
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
async function lookUpAll(flags: Flags): Promise<Found[]> {
  const surroundings = ownSurroundings();
  const file = findConfigFile(configFlag(flags), surroundings);
  const look = async (key: SettingKey): Promise<Found> => {
    const definition: SettingDefinition<unknown> = settingTable[key];
    let readable: Pick<Found, 'value' | 'source'> = { value: null, source: null };
    try {
      const { text, source } = writtenSetting(key, flags, file, surroundings);
      readable = { value: null, source };
      definition.parse(text, source);
      readable = { value: definition.show?.(text) ?? text, source };
      if (key === 'url') await requireUsable(text, source);
      return { key, ...readable, problem: null };
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      return { key, ...readable, problem };
    }
  };
  return await Promise.all(settingKeys.map(look));
}

/** What the commands would say before they ask the store anything. @throws {OptionError} */
async function requireUsable(url: string, source: string): Promise<void> {
  refuseMemory(url, source);
  await openStores(url, 'default', source);
  await naming(placesIn(source), () => requirePackage(storeKindOf(url, source)));
}
