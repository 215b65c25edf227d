export * from './contract.js';
export { Holder } from './holder.js';
export { encodeName, groupOf, longestNameBytes, validateName } from './names.js';
export { highestTerm, isTerm, nextTerm, validateTerm } from './term.js';
