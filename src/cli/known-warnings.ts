/**
 * Node 22 warns whoever loads its SQLite that this is experimental. People who run a command can do nothing about it, and
 * the tests run on that version too; every other warning is shown.
 */
export function hideKnownWarnings(): void {
  const emitWarning = process.emitWarning.bind(process) as (...input: unknown[]) => void;
  process.emitWarning = (...input: unknown[]) => {
    const [warning, type] = input;
    if (type === 'ExperimentalWarning' && /^SQLite is/.test(String(warning))) return;
    emitWarning(...input);
  };
}
