import { loadPackage } from '../optional-package.js';

/** @throws {OptionError} if it is not installed. */
export function loadApi(): typeof import('@opentelemetry/api') {
  return loadPackage('@opentelemetry/api');
}
