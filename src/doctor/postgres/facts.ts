import type { Looked } from '../check.js';
import type { CommonFacts } from '../everywhere.js';

/** What a server, and whatever stands in front of it, says. */
export interface PostgresFacts extends CommonFacts {
  readonly isLocal: boolean;
  readonly server: ServerFacts;
  readonly pooler: Pooler;
  readonly schema: SchemaFacts;
  readonly role: RoleFacts;
  readonly standbys: Looked<readonly Standby[]>;
  /** Of `max_connections`, those that are not reserved. */
  readonly connections: { readonly taken: number; readonly all: number };
}

export interface ServerFacts {
  /** As in `server_version_num`: 150004. */
  readonly version: number;
  readonly isInRecovery: boolean;
  readonly isReadOnly: boolean;
  readonly encoding: string;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  readonly synchronousCommit: string;
  readonly synchronousStandbyNames: string;
  /** Whether it writes the parameters of statements to its log. */
  readonly logsStatements: boolean;
}

/** `transaction`: two connections of ours were served by one session. `session`: something stands between, and they were not. */
export type Pooler = 'none' | 'transaction' | 'session';

export interface SchemaFacts {
  readonly name: string;
  readonly versions: Looked<Versions>;
  /** What the migration makes, and is not there, as `column leases.term`. */
  readonly absent: { readonly leases: readonly string[]; readonly jobs: readonly string[] };
  /** Some of what the migration makes for leases is there. */
  readonly isBegun: boolean;
  /** What the role may not do there, as `SELECT ON leases`. */
  readonly missing: readonly string[];
}

/** By part; `undefined`: it was never migrated, or is not there. */
export interface Versions {
  readonly leases: number | undefined;
  readonly jobs: number | undefined;
}

export interface RoleFacts {
  readonly name: string;
  readonly isSuperuser: boolean;
  /** Of the schema, or of what is in it: it could drop it. */
  readonly ownsTables: boolean;
}

export interface Standby {
  readonly name: string;
  /** `async`, `potential`, `sync` or `quorum`. */
  readonly state: string;
}
