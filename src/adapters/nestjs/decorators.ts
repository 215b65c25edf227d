import { OptionError } from '../../errors/index.js';

/**
 * Nest and its decorators are written for those that TypeScript had first. Without that option of the compiler they are
 * called as the later standard has it: with the function, and an object that says what it is.
 *
 * @throws {OptionError}
 */
export function requireExperimentalDecorators(
  decorator: string,
  target: unknown,
  key: unknown,
): void {
  const isStandard = typeof key === 'object' && key !== null && 'kind' in key;
  if (!isStandard && target !== undefined) return;
  throw new OptionError(
    decorator,
    undefined,
    'was called as a standard decorator, since experimentalDecorators is off',
    'set "experimentalDecorators": true (and "emitDecoratorMetadata": true, as Nest needs it) in the compilerOptions of the tsconfig.json that your compiler or tsx reads',
  );
}
