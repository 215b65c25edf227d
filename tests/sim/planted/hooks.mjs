/** Loads this project's TypeScript with some of its text changed: a bug, planted. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { toModule } from '../../support/typescript-hooks.mjs';

export { resolve } from '../../support/typescript-hooks.mjs';

/** @type {readonly import('./bugs.mjs').Edit[]} */
let edits = [];

/** @param {readonly import('./bugs.mjs').Edit[]} planted */
export function initialize(planted) {
  edits = planted;
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  let text = await readFile(fileURLToPath(url), 'utf8');
  for (const { file, from, to } of edits) {
    if (!url.endsWith(`/src/${file}`)) continue;
    // What it changed is not there any more, or there twice: it plants nothing, or something else.
    const count = text.split(from).length - 1;
    if (count !== 1)
      throw new Error(`the text to be changed is in ${file} ${count} times: ${from}`);
    text = text.replace(from, () => to);
  }
  return toModule(url, text);
}
