/*
 * Every script reads the server's clock once, as `now`, and refuses to run after its request's deadline; both come from
 * `defineScript`. Expiry is the server's own (PX), by the same clock. Keys are all declared; each script takes first
 * those of the namespace, then those of the names, in order, and then the groups' indexes.
 *
 * A foreign type under one of our keys is met with `pcall` and left alone. What a script writes first is refused when
 * the server is out of memory or read-only, so a refused batch has changed nothing.
 */
export { historyScript, resumeScript, revokeScript, suspendScript } from './acts.js';
export { candidatesScript, enrollScript, withdrawScript } from './candidates.js';
export { readDocumentScript, writeDocumentScript } from './documents.js';
export { endScript } from './ends.js';
export { acquireScript } from './grants.js';
export { cutScript, membersScript, readScript } from './reads.js';
export { renewScript } from './renewals.js';
