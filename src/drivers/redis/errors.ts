import { kindOfCode } from '../../errors/error-kind.js';
import {
  type OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
} from '../../errors/index.js';
import { outcomeUnknown } from '../../errors/unanswered.js';
import type { Topology } from './client.js';
import { executedInPart } from './script.js';

/**
 * What an error reply of the server means for the request it answers.
 *
 * - `retry`: not executed, may pass soon. `reconnect`: not executed, we talk to the wrong server. `moved`: not executed,
 *   and the answer says who would.
 * - `refused`: not executed, and trying again at once will not help.
 * - `misconfigured`: not executed until somebody changes the configuration.
 * - `unknown`: the script broke off, after what it had already written.
 */
export type ReplyMeaning =
  | 'retry'
  | 'reconnect'
  | 'moved'
  | 'refused'
  | 'misconfigured'
  | 'unknown';

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

/**
 * In a cluster the same words are of the day: a slot moves. A script of ours has keys that need not exist, and as long as
 * a slot is on its way neither of its nodes runs one that names such a key; so ASK is not followed, but waited out.
 */
const clusterMeanings: Readonly<Record<string, ReplyMeaning>> = { MOVED: 'moved', ASK: 'retry' };

const remedies: Readonly<Record<string, string>> = {
  OOM: 'Give the server more memory; it keeps what it has and takes nothing new.',
  NOREPLICAS: 'Bring its replicas back, or lower min-replicas-to-write.',
  READONLY: 'Point the URL at the master.',
  NOAUTH: 'Put user and password into the URL.',
  WRONGPASS: 'Correct user and password in the URL.',
  NOPERM:
    'Give its user the rights of what it does: `npx tenure doctor` with this URL prints them, for leases, jobs, once, the fence and streams; node_modules/tenure/docs/protocol.md lists them under "Leases on Redis: The least rights".',
  MISCONF: 'It cannot write its data to disk: repair that first.',
  MOVED: 'This is a node of a Redis Cluster: use a redis+cluster:// URL.',
  ASK: 'This is a node of a Redis Cluster: use a redis+cluster:// URL.',
};

/** Where the server is found by asking others, there is no URL to correct. */
const failoverRemedies: Readonly<Record<string, string>> = {
  READONLY:
    'It is a replica now, and no other master was found in time: a failover is under way, or has failed.',
  MOVED: 'The nodes do not agree who owns the slot of the namespace: look at CLUSTER NODES.',
  ASK: 'The slot of the namespace is being moved, and that was not over in time.',
  TRYAGAIN: 'The slot of the namespace is being moved, and that was not over in time.',
  CLUSTERDOWN:
    'It cannot reach most of the other masters, or a slot has none: look at CLUSTER INFO.',
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

export function replyMeaning(error: Error, topology: Topology = 'single'): ReplyMeaning {
  const code = replyCode(error) ?? 'ERR';
  const known = (topology === 'cluster' ? clusterMeanings[code] : undefined) ?? meanings[code];
  if (known !== undefined) return known;
  return /user_script|running script/i.test(error.message) ? 'unknown' : 'refused';
}

/** The error to throw for an error reply to `what`. Repeats of the reply only what cannot hold arguments. */
export function replyError(
  error: Error,
  what: string,
  address: string,
  topology: Topology = 'single',
): TenureError {
  const code = replyCode(error) ?? 'ERR';
  if (code === executedInPart) return inPartError(error, what, address);
  const remedy =
    (topology === 'single' ? undefined : failoverRemedies[code]) ?? remedies[code] ?? '';
  const meaning = replyMeaning(error, topology);
  if (meaning === 'unknown') {
    return outcomeUnknown(
      undefined,
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
  return outcomeUnknown(
    kindOfCode(code),
    `${what} was executed in part: then ${address} answered with ${code}. ${remedies[code] ?? ''}`.trimEnd(),
  );
}

/** The line a script stopped at. What it said there may quote a value, so that is left out. */
function scriptError(error: Error): string {
  const line = /user_script:(\d+)/.exec(error.message)?.[1];
  return line === undefined ? 'script error' : `script error in line ${line}`;
}
