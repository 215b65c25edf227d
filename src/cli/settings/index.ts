export { addSettings } from './options.js';
export { type Flags, resolveSettings, type Settings } from './resolve.js';
export type { Setting, Surroundings } from './setting.js';
export type { SettingKey } from './table.js';
