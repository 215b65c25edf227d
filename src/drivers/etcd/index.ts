export { EtcdClient } from './client.js';
export type { Deadline } from './deadline.js';
export { LeaseNotFound } from './errors.js';
export { Follower } from './follower.js';
export {
  type EtcdCompare,
  type EtcdGet,
  type EtcdKeyValue,
  type EtcdOperation,
  type KeyRange,
  withPrefix,
} from './kv.js';
export { type EtcdLocation, type EtcdTlsOptions, etcdLocation } from './location.js';
export type { EtcdEvents } from './members.js';
export type { EtcdEvent } from './watch.js';
