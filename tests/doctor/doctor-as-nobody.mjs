/** `tenure doctor` with the arguments that follow, as a user who may do nothing. */
import { register } from 'node:module';

register('../support/typescript-hooks.mjs', import.meta.url);
const { createProgram } = await import('../../src/cli/program.js');
const { commandRunner } = await import('../../src/cli/run.js');
const { terminal } = await import('../../src/cli/terminal.js');
// What is loaded when it is needed is loaded while it may still be read.
await import('../../src/cli/doctor/examine.js');
await import('../../src/cli/doctor/report.js');
await import('../../src/doctor/sqlite/index.js');
const { loadSqlite } = await import('../../src/drivers/sqlite/client.js');
await loadSqlite();

if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(65534);
  process.setuid?.(65534);
}
const words = ['doctor', ...process.argv.slice(2)];
await createProgram(terminal, commandRunner(terminal)).parseAsync(words, { from: 'user' });
