import { afterEach, beforeEach, expect, it, type MockInstance, vi } from 'vitest';
import { hideKnownWarnings } from '../../src/cli/known-warnings.js';
import { WorkWarning } from '../../src/leases/work-warning.js';

let shown: MockInstance;
beforeEach(() => {
  shown = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});
afterEach(() => {
  shown.mockRestore();
});

it('shows nobody who runs a command that SQLite is experimental, nor what its own work threw', () => {
  const own = process.emitWarning;
  hideKnownWarnings();
  process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning');
  const options = { code: 'TENURE_HANDLER_FAILED', who: 'x', listen: 'y' } as const;
  new WorkWarning(options).failed(new Error('boom'), 'is called again');
  expect(shown).not.toHaveBeenCalled();
  process.emitWarning('the store', { type: 'TenureStoreWarning', code: 'TENURE_STORE_UNREACHED' });
  process.emitWarning('a listener', 'TenureListenerWarning');
  process.emitWarning('another feature', 'ExperimentalWarning');
  expect(shown).toHaveBeenCalledTimes(3);
  process.emitWarning = own;
});
