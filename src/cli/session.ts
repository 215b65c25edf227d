import type { CallOptions, Coordinator } from '../coordinators/index.js';
import { OptionError } from '../errors/index.js';
import { type Runtime, realRuntime } from '../time/index.js';
import { commandWriter, type WriteCommand } from './next-command.js';
import type { RunCommand } from './run.js';
import { type Flags, resolveSettings } from './settings/index.js';
import { memoryUrl } from './store-url.js';
import { openStores } from './stores.js';
import type { Terminal } from './terminal.js';

/** What a command about names works with. */
export interface Session {
  readonly coordinator: Coordinator;
  readonly terminal: Terminal;
  readonly runtime: Runtime;
  /** Aborts when somebody asks the command to stop. */
  readonly signal: AbortSignal;
  /** Where the names are, for people: never with a password. */
  readonly address: string;
  readonly namespace: string;
  /** Writes a command to run next, for people, on this store. */
  readonly write: WriteCommand;
}

/** How long one request to the store may take. */
export const call: CallOptions = { timeoutMs: 5_000 };

/** What the commands need to be wired with. */
export interface Wiring {
  readonly terminal: Terminal;
  readonly run: RunCommand;
}

/** Runs a command on the store that the settings name, which is opened before and closed after. */
export function runOnStore(
  { terminal, run }: Wiring,
  command: string,
  flags: Flags,
  body: (session: Session) => Promise<boolean | number>,
): Promise<void> {
  const targets: string[] = [];
  return run(command, targets, async (signal) => {
    const { url, namespace } = resolveSettings(['url', 'namespace'], flags);
    targets.push(url.value);
    refuseMemory(url.value, url.source);
    const stores = await openStores(url.value, namespace.value, url.source);
    const coordinator = stores.openCoordinator();
    const { address } = stores;
    try {
      return await body({
        coordinator,
        terminal,
        runtime: realRuntime,
        signal,
        address,
        namespace: namespace.value,
        write: commandWriter(flags),
      });
    } finally {
      await coordinator.close();
    }
  });
}

/** Nobody else would be there. @throws {OptionError} */
export function refuseMemory(url: string, source: string): void {
  if (url !== memoryUrl) return;
  throw new OptionError(
    source,
    url,
    'is a memory that no other process sees',
    'use sqlite:PATH for the processes of one machine, or redis://host:port',
  );
}
