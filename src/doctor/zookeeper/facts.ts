import type { Looked } from '../check.js';
import type { CommonFacts } from '../everywhere.js';

/** What an ensemble says, and the servers that the URL names. */
export interface ZooKeeperFacts extends CommonFacts {
  readonly servers: readonly ServerFacts[];
  /** Servers answer, and none of them serves: they have no majority. Then all that is optional here is absent. */
  readonly isServing: boolean;
  /** The time-out that a session of the ttl was granted. */
  readonly grantedMs?: number;
  /** How many take part in votes; 0: it is one server alone. */
  readonly voters: Looked<number>;
  readonly chroot: string;
  readonly isChrootThere?: boolean;
  readonly login: Login;
  readonly isLocal: boolean;
  /** Where the namespace is. */
  readonly mayWrite?: boolean;
}

export interface ServerFacts {
  readonly address: string;
  /** Why it said nothing, if so. */
  readonly failure?: string;
  /** It says that it has no majority. */
  readonly isIdle?: boolean;
  /** From `srvr`; absent if it does not answer that. */
  readonly version?: string | undefined;
  /** `standalone`, `leader`, `follower`, `observer`. */
  readonly mode?: string | undefined;
  /** Whom it takes for the servers of its ensemble, as its configuration writes them; empty: it is one alone. */
  readonly ensemble?: readonly string[] | undefined;
}

/** `none`: nobody in particular. */
export type Login = { readonly user: string } | 'none';
