export * from './acts.js';
export * from './candidates.js';
export * from './contract.js';
export * from './history.js';
export { Holder, validateHolderId } from './holder.js';
export { encodeName, groupOf, longestNameBytes, validateName } from './names.js';
export * from './record.js';
export { checkTimeout, validateMetadata } from './requests.js';
export { highestTerm, isCredibleTerm, isTerm, nextTerm, validateTerm } from './term.js';
