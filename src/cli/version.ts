import { readFileSync } from 'node:fs';

/** The version of the package this file was installed with. */
export function packageVersion(): string {
  // From dist/cli/ as from src/cli/: two folders below the package.
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
