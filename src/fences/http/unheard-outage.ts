import { redactSecrets } from '../../errors/index.js';
import { type FencingProblem, typeOf } from './problems.js';

const unavailable = typeOf('store-unavailable');

/**
 * Says once, as a process warning, that the fence of a service could not be asked, for whoever listens to no refusals: its
 * clients are told that they come in vain, and not why.
 */
export function warnOnce(): (refusal: { problem: FencingProblem; cause: unknown }) => void {
  let isTold = false;
  return ({ problem: { type, detail }, cause }) => {
    if (isTold || type !== unavailable) return;
    isTold = true;
    const why = redactSecrets(cause instanceof Error ? cause.message : String(cause));
    process.emitWarning(
      `the HTTP fence answered a request with 503: ${detail.replace(/\.$/, '')}: ${why.replace(/\.$/, '')}. It does so until that is mended, and says it once. Nobody listens to that: pass onRefused.`,
      { type: 'TenureStoreWarning', code: 'TENURE_STORE_UNREACHED' },
    );
  };
}
