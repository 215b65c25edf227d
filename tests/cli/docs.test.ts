import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { exitStatus } from '../../src/cli/exit-status.js';
import { createProgram } from '../../src/cli/program.js';
import { settingTable } from '../../src/cli/settings/table.js';
import { RecordingTerminal } from './session.js';

const docs = join(import.meta.dirname, '../../docs');
const page = readFileSync(join(docs, 'cli.md'), 'utf8');

function anchorsOf(text: string): (string | undefined)[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading?.toLowerCase().replaceAll(' ', '-'),
  );
}
const program = createProgram(new RecordingTerminal(), async () => {});
const help = program.createHelp();
const commands = help.visibleCommands(program).filter((command) => command.name() !== 'help');

/** Those of the trials are told by their own help. */
const onPage = commands
  .filter((command) => !['demo', 'selftest'].includes(command.name()))
  .flatMap((command) => [command, ...subcommandsOf(command)]);

function subcommandsOf(command: Command): Command[] {
  return help.visibleCommands(command).filter((one) => one.name() !== 'help');
}

function flagsOf(command: Command): string[] {
  return help.visibleOptions(command).map(({ long, short }) => long ?? short ?? '');
}

describe('the page about the command line', () => {
  it.each(commands.map((command) => command.name()))('names the command %s', (name) => {
    expect(page).toMatch(new RegExp(`\`${name}\\b`));
  });

  it.each(onPage.map((command) => [nameOf(command), command] as const))(
    'names every option of %s',
    (_name, command) => {
      const missing = flagsOf(command).filter((flag) => flag !== '--help' && !isNamed(flag));
      expect(missing).toEqual([]);
    },
  );

  it.each(Object.entries(settingTable))('tells where %s can be set', (key, { flag, variable }) => {
    expect(page).toContain(`| \`${key}\` | \`${flag}\` | \`${variable}\` |`);
  });

  it.each(Object.values(exitStatus))('tells what exit status %d means', (status) => {
    expect(page).toMatch(new RegExp(`^\\| ${status} \\| `, 'm'));
  });

  it('links only to what is there', () => {
    for (const [, target = ''] of page.matchAll(/\]\(([^)]+)\)/g)) {
      const [file = '', heading] = target.split('#');
      const linked = file === '' ? page : readFileSync(join(docs, file), 'utf8');
      if (heading !== undefined) expect(anchorsOf(linked), target).toContain(heading);
    }
  });
});

/** `jobs list`. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${nameOf(parent)} ${command.name()}` : command.name();
}

function isNamed(flag: string): boolean {
  return new RegExp(`${flag}\\b`).test(page) || (flag === '--output' && page.includes('`-o '));
}
