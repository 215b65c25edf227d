/**
 * Checks who imports whom: `node scripts/layers.mjs [root]`, where root holds `src/`.
 *
 * A cruise that reads nothing also finds nothing wrong, so the number of modules seen must equal the
 * number of TypeScript files that are there, and every file must belong to a known room.
 */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { cruise } from 'dependency-cruiser';

const { rooms, ...ruleSet } = createRequire(import.meta.url)('../.dependency-cruiser.cjs');
const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'));

const files = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
  .sort();

const { options, ...rules } = ruleSet;
const { output } = await cruise(['src'], {
  ...options,
  ruleSet: rules,
  validate: true,
  baseDir: root,
});
if (typeof output === 'string') throw new Error('expected a cruise result, got text');

/** @type {string[]} */
const problems = [];

const seen = new Set(output.modules.map((module) => module.source));
const missed = files.filter((file) => !seen.has(file));
const seenCount = output.modules.filter((module) => module.source.startsWith('src/')).length;
if (files.length === 0) problems.push('no-empty-cruise: there is no TypeScript file under src/');
if (missed.length > 0 || seenCount !== files.length) {
  problems.push(
    `module-count: ${files.length} TypeScript files under src/, ${seenCount} modules read` +
      (missed.length > 0 ? `; not read: ${missed.join(', ')}` : ''),
  );
}

for (const file of files) {
  if (!rooms.some((/** @type {string} */ room) => new RegExp(room).test(file))) {
    problems.push(`known-room: ${file} is in no layer of .dependency-cruiser.cjs`);
  }
}

for (const { rule, from, to, cycle, via } of output.summary.violations) {
  const path = (cycle ?? via ?? []).map((step) => step.name);
  const way = path.length > 0 ? path.join(' -> ') : to;
  problems.push(`${rule.name}: ${from} -> ${way}`);
}

if (problems.length > 0) {
  for (const problem of problems) console.error(problem);
  console.error(`layers: ${problems.length} problems`);
  process.exit(1);
}
console.log(`layers: ${seenCount} modules, imports point down`);
