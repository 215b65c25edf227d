import { Option } from 'commander';

/** `-o, --output`, the first format being the default. */
export function outputOption(formats: readonly string[]): Option {
  return new Option('-o, --output <format>', 'how the answer is printed')
    .choices(formats)
    .default(formats[0]);
}
