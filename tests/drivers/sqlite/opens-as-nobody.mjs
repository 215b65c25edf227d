/** Prepares the file of a SQLite store as a user who may do nothing, and says what came of it. */
import { register } from 'node:module';

register('../../support/typescript-hooks.mjs', import.meta.url);
const { prepareFile } = await import('../../../src/drivers/sqlite/file.js');

if (process.getuid?.() === 0) {
  process.setgid?.(65534);
  process.setuid?.(65534);
}
try {
  prepareFile(process.argv[2] ?? '', { createDirectory: false });
  console.log('prepared');
} catch (error) {
  console.log(
    `${error instanceof Error ? error.name : ''}: ${error instanceof Error ? error.message : error}`,
  );
}
