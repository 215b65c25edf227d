import type { CallOptions, Coordinator } from '../coordinators/index.js';
import { OptionError } from '../errors/index.js';
import { type Runtime, realRuntime } from '../time/index.js';
import { closeUnlessStopped, heard } from './heard.js';
import { commandWriter, type WriteCommand } from './next-command.js';
import { PendingAct } from './pending-act.js';
import type { RunCommand } from './run.js';
import { type Flags, resolveSettings } from './settings/index.js';
import { memoryUrl } from './store-url.js';
import { openStores } from './stores.js';
import type { Terminal } from './terminal.js';

/** What a command works with, whatever its store keeps. */
export interface StoreSession {
  readonly terminal: Terminal;
  readonly runtime: Runtime;
  /** Aborts when somebody asks the command to stop. */
  readonly signal: AbortSignal;
  /** Where the store is, for people: never with a password. */
  readonly address: string;
  readonly namespace: string;
  /** Writes a command to run next, for people, on this store. */
  readonly write: WriteCommand;
  /** What it has asked the store to do. */
  readonly pending: PendingAct;
}

/** What a command about names works with. */
export interface Session extends StoreSession {
  readonly coordinator: Coordinator;
}

/** How long one request to the store may take. */
export const call: CallOptions = { timeoutMs: 5_000 };

/** What the commands need to be wired with. */
export interface Wiring {
  readonly terminal: Terminal;
  readonly run: RunCommand;
}

/** The store that the settings name. */
export interface Place {
  readonly url: string;
  /** What the URL is written in, for errors. */
  readonly source: string;
  readonly namespace: string;
}

/** Runs a command on the store that the settings name: `body` opens it, and closes it. */
export function runAtPlace(
  { terminal, run }: Wiring,
  command: string,
  flags: Flags,
  body: (place: Place, common: Omit<StoreSession, 'address'>) => Promise<boolean | number>,
): Promise<void> {
  const targets: string[] = [];
  return run(command, targets, async (signal) => {
    const settings = resolveSettings(['url', 'namespace'], flags);
    const { value: url, source } = settings.url;
    const { value: namespace } = settings.namespace;
    targets.push(url);
    refuseMemory(url, source);
    const pending = new PendingAct(signal);
    const common = { terminal, runtime: realRuntime, signal, namespace, pending };
    try {
      return await body({ url, source, namespace }, { ...common, write: commandWriter(flags) });
    } catch (error) {
      throw pending.told(error);
    }
  });
}

/** Runs a command on the leases of the store that the settings name, which is opened before and closed after. */
export function runOnStore(
  wiring: Wiring,
  command: string,
  flags: Flags,
  body: (session: Session) => Promise<boolean | number>,
): Promise<void> {
  return runAtPlace(wiring, command, flags, async (place, common) => {
    const session = await openSession(place, common);
    try {
      return await body(session);
    } finally {
      await session.coordinator.close();
    }
  });
}

/** As {@link runOnStore}, for a command that ends at once when somebody stops it, whatever it waits for at the store. */
export function askStore(
  wiring: Wiring,
  command: string,
  flags: Flags,
  body: (session: Session) => Promise<boolean | number>,
): Promise<void> {
  return runAtPlace(wiring, command, flags, async (place, common) => {
    const session = await openSession(place, common);
    const { coordinator, signal } = session;
    try {
      return await body({ ...session, coordinator: heard(coordinator, signal) });
    } finally {
      await closeUnlessStopped(coordinator, signal);
    }
  });
}

async function openSession(
  { url, source, namespace }: Place,
  common: Omit<StoreSession, 'address'>,
): Promise<Session> {
  const stores = await openStores(url, namespace, source);
  return { ...common, coordinator: stores.openCoordinator(), address: stores.address };
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
