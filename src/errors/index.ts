export { type ErrorCode, errorCatalogue } from './catalogue.js';
export {
  ClosedError,
  isTransient,
  KeyMovingError,
  OptionError,
  OutcomeUnknownError,
  preview,
  RecordCorruptError,
  SequenceGapError,
  SequenceReusedError,
  StaleTermError,
  StoreMisconfiguredError,
  StoreRefusedError,
  TenureError,
  tooLateCode,
  UnreachableError,
} from './errors.js';
export { redactSecrets } from './redact.js';
