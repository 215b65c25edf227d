export type {
  CorruptLog,
  InstallRequest,
  InstallResult,
  OpenResult,
  PublishRequest,
  PublishResult,
  SealResult,
  ShardBacklog,
  StaleToken,
  StepRequest,
  StepResult,
  StoredMessage,
  StreamPromises,
  StreamStore,
  SupersededMove,
  TopicResult,
} from './contract.js';
export type { Receipt } from './lanes.js';
export type { OutgoingMessage } from './outgoing.js';
export { type MovePinOptions, movePin, type PinMove } from './pin-move.js';
export {
  type Backlog,
  type PublishOptions,
  Topic,
  type TopicEvents,
  type TopicOptions,
} from './topic.js';
export * from './worker/index.js';
