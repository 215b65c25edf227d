export { parseZooKeeperUrl, type ZooKeeperAddress } from './address.js';
export { type NodeEvent, ZooKeeperConnection } from './connection.js';
export {
  ConnectionLostError,
  errorCode,
  isZooKeeperError,
  refusal,
  SessionExpiredError,
  ZooKeeperError,
} from './errors.js';
export { Link, type LinkFailure } from './link.js';
export type { NodeContent, NodeOperation, NodeOperationResult, NodeStat } from './protocol.js';
