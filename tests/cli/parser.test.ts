import { describe, expect, it } from 'vitest';
import { Parser } from '../../src/cli/parser.js';

/** What the parser says of `tenure resume` with these words. */
function complaintAbout(...words: string[]): string {
  let said = '';
  const output = { outputError: (text: string) => (said += text), writeErr: () => {} };
  const program = new Parser('tenure').version('1.0.0').configureOutput(output).exitOverride();
  program
    .command('resume')
    .option('--by <who>')
    .option('--url <url>')
    .option('--election <name>')
    .configureOutput(output)
    .exitOverride()
    .action(() => {});
  expect(() => program.parse(['resume', ...words], { from: 'user' })).toThrow();
  return said;
}

describe('an option that a command does not have', () => {
  it.each([
    ['--electoin', '--election'],
    ['--elections', '--election'],
    ['--ulr', '--url'],
    ['--urls', '--url'],
  ])('is told with the one that is near: %s', (flag, meant) => {
    expect(complaintAbout(flag)).toContain(
      `tenure resume: unknown option '${flag}'\n(Did you mean ${meant}?)`,
    );
  });

  it.each(['--reason', '--id', '--at', '--verbose', '-x'])(
    'is told without a guess if none is near, or it is no option of that command: %s',
    (flag) => {
      const said = complaintAbout(flag);
      expect(said).toContain(`tenure resume: unknown option '${flag}'`);
      expect(said).not.toContain('Did you mean');
    },
  );
});
