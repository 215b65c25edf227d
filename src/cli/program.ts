import type { Command } from 'commander';
import { addAdvise } from './advise/command.js';
import { addCompletion } from './completion/command.js';
import { addDemo } from './demo/command.js';
import { addDiagnose } from './diagnose/command.js';
import { visibleLines } from './display/visible.js';
import { addDoctor } from './doctor/command.js';
import { addJobs } from './jobs/command.js';
import { addMigrate } from './migrate/command.js';
import { addObservers } from './observe/command.js';
import { addOnce } from './once/command.js';
import { addOperators } from './operate/command.js';
import { Parser } from './parser.js';
import type { RunCommand } from './run.js';
import { addSchedule } from './schedule/command.js';
import { addSelftest } from './selftest/command.js';
import { addConfig } from './settings/command.js';
import { addSim } from './sim/command.js';
import { addRun } from './supervise/command.js';
import type { Terminal } from './terminal.js';
import { packageVersion } from './version.js';
import { hang } from './wrap.js';

const help = `
Examples:
  tenure run --election payments -- ./pay      runs only while it is elected
  tenure who payments                          who holds it now?
  tenure watch payments                        and how does that change?
  tenure suspend payments --reason INC-12      the kill switch
  tenure demo                                  watch ownership change hands
  tenure selftest --url redis://localhost      check the promises on your store

Exit status: 0 success, 1 the answer is no, 64 usage, 69 store unreachable,
70 a bug, 74 output not written, 75 not in time, 76 lease lost, 77 refused,
78 store misconfigured, 128 + n stopped by signal n.
`;

/** All commands. Each loads what it works with when it runs, so that the others start at once. */
export function createProgram(terminal: Terminal, run: RunCommand): Command {
  const program = new Parser('tenure')
    .description(
      'Safe ownership among processes: who may act now, and how everyone else is refused.',
    )
    .version(packageVersion())
    .addHelpText('after', help)
    .configureOutput({
      outputError: (text, write) => write(hang(visibleLines(text), terminal.noteColumns, '  ')),
    })
    .exitOverride();
  const wiring = { terminal, run };
  program.commandsGroup('Work:');
  addRun(program, terminal, run);
  addSchedule(program, terminal, run);
  program.commandsGroup('Look:');
  addObservers(program, wiring);
  addDiagnose(program, wiring);
  addAdvise(program, wiring);
  addDoctor(program, wiring);
  program.commandsGroup('Operate:');
  addOperators(program, wiring);
  addJobs(program, wiring);
  addOnce(program, wiring);
  program.commandsGroup('Try:');
  addDemo(program, terminal, run);
  addSelftest(program, terminal, run);
  addSim(program, terminal, run);
  program.commandsGroup('Set up:');
  addConfig(program, wiring);
  addMigrate(program, wiring);
  addCompletion(program, wiring);
  return program;
}
