/**
 * Plays seeds with a bug planted (`play.mjs BUG FROM TO`, or `-` for none: then with the scenario and model of the bug named
 * after it) until one shows it, and prints what was found (JSON).
 */
import { register } from 'node:module';
import { bugs } from './bugs.mjs';

const [name, from, to, isPlanted = 'yes'] = process.argv.slice(2);
const bug = bugs.find((one) => one.name === name);
if (bug === undefined) throw new Error(`there is no bug ${name}`);

const data = isPlanted === 'yes' ? bug.edits : [];
register('./hooks.mjs', { parentURL: import.meta.url, data });
const index = '../../../src/sim/index.ts';
const { planOf, run } = await import(index);

let found;
for (let seed = Number(from); seed <= Number(to) && found === undefined; seed += 1) {
  const { violation } = await run(planOf(seed, { scenario: bug.scenario, model: bug.model }));
  if (violation !== undefined) found = { seed, ...violation };
}
console.log(JSON.stringify(found ?? null));
