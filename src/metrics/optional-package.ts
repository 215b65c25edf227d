import { createRequire } from 'node:module';
import { OptionError } from '../errors/index.js';

const require = createRequire(import.meta.url);

/**
 * A package that only those have who use it, loaded at once, since the calls that need it answer at once. It is the same
 * instance that the user's own `import` has.
 *
 * @param load replaced in tests. @throws {OptionError} if it is not installed.
 */
export function loadPackage<Package>(
  name: string,
  remedy = '',
  load: (name: string) => unknown = require,
): Package {
  try {
    return load(name) as Package;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== 'MODULE_NOT_FOUND' || !message.includes(`'${name}'`)) throw cause;
    throw new OptionError(name, undefined, 'is not installed', `run: npm install ${name}${remedy}`);
  }
}
