import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
} from '../../errors/index.js';
import { executedInPart } from './script.js';

/**
 * What an error reply of the server means for the request it answers.
 *
 * - `retry`: not executed, may pass soon. `reconnect`: not executed, we talk to the wrong server.
 * - `refused`: not executed, and trying again at once will not help.
 * - `misconfigured`: not executed until somebody changes the configuration.
 * - `unknown`: the script broke off, after what it had already written.
 */
export type ReplyMeaning = 'retry' | 'reconnect' | 'refused' | 'misconfigured' | 'unknown';

const meanings: Readonly<Record<string, ReplyMeaning>> = {
  BUSY: 'retry',
  LOADING: 'retry',
  TRYAGAIN: 'retry',
  MASTERDOWN: 'retry',
  CLUSTERDOWN: 'retry',
  READONLY: 'reconnect',
  OOM: 'refused',
  NOREPLICAS: 'refused',
  NOAUTH: 'misconfigured',
  WRONGPASS: 'misconfigured',
  NOPERM: 'misconfigured',
  MISCONF: 'misconfigured',
  MOVED: 'misconfigured',
  ASK: 'misconfigured',
  CROSSSLOT: 'misconfigured',
  [executedInPart]: 'unknown',
};

const remedies: Readonly<Record<string, string>> = {
  OOM: 'Give the server more memory; it keeps what it has and takes nothing new.',
  NOREPLICAS: 'Bring its replicas back, or lower min-replicas-to-write.',
  READONLY: 'Point the URL at the master.',
  NOAUTH: 'Put user and password into the URL.',
  WRONGPASS: 'Correct user and password in the URL.',
  NOPERM: 'Give its user the rights listed in docs/protocol.md.',
  MISCONF: 'It cannot write its data to disk: repair that first.',
  MOVED: 'This is a node of a Redis Cluster; use a single server.',
  ASK: 'This is a node of a Redis Cluster; use a single server.',
};

/** How a server says NOPERM when the command stands in a script; the second is that of 7.0. */
const deniedInScript = /^ERR (?:ACL failure in script|The user executing the script can't)/;

/**
 * The server's own word for an error: the first word of an error reply, or `undefined` for any other failure. A right
 * that is missing is NOPERM, inside a script as well.
 */
export function replyCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined;
  return codeOf(error.message);
}

function codeOf(reply: string): string {
  if (deniedInScript.test(reply)) return 'NOPERM';
  return /^([A-Z][A-Z0-9]*)(?:\s|$)/.exec(reply)?.[1] ?? 'ERR';
}

export function replyMeaning(error: Error): ReplyMeaning {
  const code = replyCode(error) ?? 'ERR';
  const known = meanings[code];
  if (known !== undefined) return known;
  return /user_script|running script/i.test(error.message) ? 'unknown' : 'refused';
}

/** The error to throw for an error reply to `what`. Repeats of the reply only what cannot hold arguments. */
export function replyError(error: Error, what: string, address: string): TenureError {
  const code = replyCode(error) ?? 'ERR';
  if (code === executedInPart) return inPartError(error, what, address);
  const remedy = remedies[code] ?? '';
  const meaning = replyMeaning(error);
  if (meaning === 'unknown') {
    return new OutcomeUnknownError(
      `${what} broke off inside ${address} (${scriptError(error)}): it may have been executed in part. This is a defect of tenure or a server it was not tested with.`,
    );
  }
  if (meaning === 'misconfigured') {
    return new StoreMisconfiguredError(`${address} answered ${what} with ${code}. ${remedy}`);
  }
  return new StoreRefusedError(
    code,
    `${address} refused ${what} with ${code}; nothing was executed. ${remedy}`.trimEnd(),
  );
}

/** Not executed would be a lie for what came before the refusal. */
function inPartError(error: Error, what: string, address: string): OutcomeUnknownError {
  const code = codeOf(error.message.slice(executedInPart.length + 1));
  return new OutcomeUnknownError(
    `${what} was executed in part: then ${address} answered with ${code}. ${remedies[code] ?? ''}`.trimEnd(),
  );
}

/** The line a script stopped at. What it said there may quote a value, so that is left out. */
function scriptError(error: Error): string {
  const line = /user_script:(\d+)/.exec(error.message)?.[1];
  return line === undefined ? 'script error' : `script error in line ${line}`;
}
