export {
  parseZooKeeperUrl,
  type ZooKeeperAddress,
  type ZooKeeperServerAddress,
} from './address.js';
export { type NodeEvent, type SessionTicket, ZooKeeperConnection } from './connection.js';
export {
  ConnectionLostError,
  errorCode,
  isZooKeeperError,
  refusal,
  SessionExpiredError,
  ZooKeeperError,
} from './errors.js';
export { Link, type LinkEvents } from './link.js';
export type { NodeContent, NodeOperation, NodeOperationResult, NodeStat } from './protocol.js';
