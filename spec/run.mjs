/** `npm run model`: searches the models and all of their variants, and shows how those fail that have to. */
import { answerHelp, modelUsage } from '../scripts/usage.mjs';
import { search } from './search.mjs';
import { variants } from './variants.mjs';

answerHelp(modelUsage);

let wrongCount = 0;
for (const variant of variants) {
  const { model, name, defines, fails } = variant;
  const { holds, stateCount, trace } = await search(variant);
  if (holds === (fails !== undefined)) wrongCount += 1;
  const verdict = holds ? `holds, in all of ${stateCount} states` : 'fails';
  console.log(
    `${model}: ${name} ${defines.map((define) => `-D${define}`).join(' ')}\n  ${verdict}`,
  );
  for (const step of trace) console.log(`    ${step}`);
}
console.log(wrongCount === 0 ? 'as it has to be' : `${wrongCount} not as they have to be`);
process.exitCode = wrongCount === 0 ? 0 : 1;
