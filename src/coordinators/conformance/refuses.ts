import assert from 'node:assert/strict';
import { OptionError } from '../../errors/index.js';

/** Expects a refusal that names the option and says what to do instead. */
export async function refuses(option: string, act: () => Promise<unknown>): Promise<void> {
  await assert.rejects(act, (error: unknown) => {
    assert.ok(error instanceof OptionError, `expected an OptionError for ${option}: ${error}`);
    assert.equal(error.option, option);
    assert.notEqual(error.remedy, '', 'a refusal says what to do instead');
    return true;
  });
}
