import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../../../scripts/bootstrap.mjs';

/** The text of a function `exhaust(leftCount)`, which takes all the files this process may open, but for so many. */
export const exhaust = `
import { closeSync, openSync } from 'node:fs';
const exhaust = (leftCount) => {
  const taken = [];
  try {
    for (;;) taken.push(openSync('/dev/null'));
  } catch {}
  const left = taken.splice(0, leftCount);
  for (const file of left) closeSync(file);
  return () => taken.forEach((file) => closeSync(file));
};
`;

/** A module of the package as it is shipped, to be imported by such a program. */
export function shipped(module: string): string {
  return JSON.stringify(join(root, 'dist', module));
}

/** What a program prints, as JSON, that may have few files open and can {@link exhaust} them. */
export function runWithFewFiles(program: string): unknown {
  const shell = 'ulimit -n 60; exec "$0" --input-type=module -e "$1"';
  const args = ['-c', shell, process.execPath, `${exhaust}\n${program}`];
  return JSON.parse(execFileSync('/bin/sh', args, { encoding: 'utf8' }));
}
