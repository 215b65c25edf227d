export * from './contract.js';
export { Holder, validateHolderId } from './holder.js';
export { encodeName, groupOf, longestNameBytes, validateName } from './names.js';
export { checkTimeout, validateMetadata } from './requests.js';
export { highestTerm, isTerm, nextTerm, validateTerm } from './term.js';
