#!/usr/bin/env node
import { CommanderError } from 'commander';
import { exitStatus } from './exit-status.js';
import { hideKnownWarnings } from './known-warnings.js';
import { createProgram } from './program.js';
import { commandRunner } from './run.js';
import { terminal } from './terminal.js';

hideKnownWarnings();
try {
  await createProgram(terminal, commandRunner(terminal)).parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Asked for help or the version: 0. Everything else the parser objects to is usage.
  process.exitCode = error.exitCode === 0 ? exitStatus.success : exitStatus.usage;
}
