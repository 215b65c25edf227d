#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { addDemo } from './demo/command.js';
import { visibleLines } from './display/visible.js';
import { exitStatus } from './exit-status.js';
import { addObservers } from './observe/command.js';
import { addOperators } from './operate/command.js';
import { commandRunner } from './run.js';
import { addSelftest } from './selftest/command.js';
import { addConfig } from './settings/command.js';
import { terminal } from './terminal.js';
import { packageVersion } from './version.js';
import { hang } from './wrap.js';

const help = `
Examples:
  tenure demo                                  watch ownership change hands
  tenure selftest --url redis://localhost      check the promises on your store

Exit status: 0 success, 1 a verdict that failed, 64 usage, 69 store unreachable,
74 output not written, 78 store misconfigured.
`;

const program = new Command('tenure')
  .description('Safe ownership among processes: who may act now, and how everyone else is refused.')
  .version(packageVersion())
  .addHelpText('after', help)
  .showHelpAfterError('(--help lists commands and options)')
  .configureOutput({
    outputError: (text, write) => write(hang(visibleLines(text), terminal.noteColumns, '  ')),
  })
  .exitOverride();
const run = commandRunner(terminal);
const wiring = { terminal, run };
addObservers(program, wiring);
addOperators(program, wiring);
addConfig(program, wiring);
addDemo(program, terminal, run);
addSelftest(program, terminal, run);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Asked for help or the version: 0. Everything else the parser objects to is usage.
  process.exitCode = error.exitCode === 0 ? exitStatus.success : exitStatus.usage;
}
