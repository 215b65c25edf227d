/** A duration for people: `0.4 ms`, `12 ms`, `2.5 s`, `30 s`, `3 min`, `24 h`. */
export function sayMs(durationMs: number): string {
  if (durationMs < 10) return `${trimmed(durationMs.toFixed(1))} ms`;
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 120_000) return `${trimmed((durationMs / 1_000).toFixed(1))} s`;
  if (durationMs < 2 * 3_600_000) return `${trimmed((durationMs / 60_000).toFixed(1))} min`;
  return `${trimmed((durationMs / 3_600_000).toFixed(1))} h`;
}

export function sayBytes(bytes: number): string {
  const mebibytes = bytes / 1024 / 1024;
  if (mebibytes < 1) return `${trimmed((bytes / 1024).toFixed(1))} KiB`;
  if (mebibytes < 1024) return `${trimmed(mebibytes.toFixed(1))} MiB`;
  return `${trimmed((mebibytes / 1024).toFixed(1))} GiB`;
}

/** `1 replica`, `2 replicas`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

function trimmed(number: string): string {
  return number.replace(/\.0$/, '');
}
