/**
 * Kills this process, from whichever of its threads: no handler runs, nothing is flushed. `process.exit` would end a worker
 * thread alone, and an orderly end would need the main thread, which is the one that stands still.
 */
export function endProcess(): void {
  process.kill(process.pid, 'SIGKILL');
}
