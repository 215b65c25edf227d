import { describe, expect, it } from 'vitest';
import { judged } from '../../src/cli/selftest/checks.js';

describe('a check of the selftest on a machine that stood still', () => {
  const failed = { passed: false, figures: ['A was not granted the lease'] };

  it('is undecided if it failed, and says for how long nothing ran', () => {
    expect(judged(failed, 1_200.4)).toEqual({
      passed: false,
      undecided: true,
      figures: [
        'A was not granted the lease',
        'this machine let nothing run for 1200 ms, and 250 ms are allowed for',
      ],
    });
  });

  it('has failed if the machine was quick enough', () => {
    expect(judged(failed, 200)).toEqual({ ...failed, undecided: false });
  });

  it('has failed if it saw what no slowness excuses', () => {
    const wrong = { ...failed, isWrong: true };
    expect(judged(wrong, 5_000)).toEqual({ ...failed, undecided: false });
  });

  it('has passed if it passed all the same', () => {
    const passed = { passed: true, figures: [] };
    expect(judged(passed, 5_000)).toEqual({ ...passed, undecided: false });
  });
});
