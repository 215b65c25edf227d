/**
 * Hides what people who run a command can do nothing about. Node 22 warns whoever loads its SQLite that this is experimental,
 * and the tests run on that version too. And what the commands call as work (a demonstration, a selftest, a job of `tenure
 * schedule`) is their own: its failures are told in their own lines. Every other warning is shown.
 */
export function hideKnownWarnings(): void {
  const emitWarning = process.emitWarning.bind(process) as (...input: unknown[]) => void;
  process.emitWarning = (...input: unknown[]) => {
    const [warning, options] = input;
    const type = options instanceof Object ? Reflect.get(options, 'type') : options;
    if (type === 'ExperimentalWarning' && /^SQLite is/.test(String(warning))) return;
    if (type === 'TenureWorkWarning') return;
    emitWarning(...input);
  };
}
