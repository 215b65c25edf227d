export { addSettings } from './options.js';
export { type Flags, resolveSettings } from './resolve.js';
export type { Setting, Surroundings } from './setting.js';
