import type { Looked } from '../check.js';
import type { CommonFacts } from '../everywhere.js';
import type { ClockOffset } from '../soundings.js';
import type { Rights } from './rights.js';
import type { Shape } from './shape.js';

/** What one server with data says about itself. */
export interface ServerFacts extends CommonFacts {
  readonly shape: Shape;
  readonly address: string;
  /** Of the user, in the URL. */
  readonly hasPassword: boolean;
  readonly isLocal: boolean;
  readonly user: string;
  readonly info: Looked<Info>;
  readonly settings: Looked<Settings>;
  readonly rights: Looked<Rights>;
  readonly write: WriteAnswer;
}

/** What a write came to that changes nothing: `denied`: the user may not, which is for its rights to tell. */
export type WriteAnswer = 'taken' | 'denied' | { readonly refusal: string };

/** From INFO. A field that a service hides is `undefined`, or empty. */
export interface Info {
  readonly version: string;
  readonly runId: string;
  readonly role: string;
  /** `sentinel` for one that keeps no data. */
  readonly mode: string;
  readonly isLoading: boolean;
  readonly usedBytes: number | undefined;
  readonly maxmemoryBytes: number | undefined;
  readonly maxmemoryPolicy: string;
  readonly appendOnlyFile: boolean | undefined;
  readonly persistenceHealthy: boolean;
  readonly clients: number | undefined;
  readonly maxClients: number | undefined;
  readonly replicas: readonly Replica[];
}

export interface Replica {
  readonly address: string;
  readonly isOnline: boolean;
  /** Since it was last heard. */
  readonly lagS: number;
}

/** From CONFIG GET. */
export interface Settings {
  readonly appendfsync: string;
  /** Empty: no snapshots. */
  readonly save: string;
  readonly minReplicasToWrite: number;
  readonly minReplicasMaxLagS: number;
}

/** What the nodes of a cluster say of it. */
export interface ClusterFacts {
  readonly nodes: Answers;
  /** Those that answer, and are no nodes of a cluster. */
  readonly strangers: readonly string[];
  /** Whom the nodes take for the master of the slot, each once. */
  readonly owners: readonly string[];
  /** Absent: none of those that answer is in a cluster. */
  readonly info?: Looked<ClusterInfo>;
  /** Of the namespace. */
  readonly slot: number;
  /** Where the master of that slot is; absent: it has none. */
  readonly owner?: string | undefined;
}

export interface ClusterInfo {
  readonly state: string;
  readonly slotsAssigned: number;
  readonly slotsOk: number;
  /** Masters with slots. */
  readonly size: number;
}

/** Of several servers of a URL, which answered. */
export interface Answers {
  readonly count: number;
  /** Why each of the others did not. */
  readonly failures: readonly string[];
}

/** What the sentinels of the URL say of the master. */
export interface SentinelFacts {
  readonly masterName: string;
  readonly named: Answers;
  /** How many of those that answer know a master of that name. */
  readonly knowingCount: number;
  /** Where they take it to be; more than one if they do not agree. */
  readonly masters: readonly string[];
  /** Which servers they mean by that, each by the id of its run. */
  readonly runIds: readonly string[];
  readonly watch: Looked<SentinelWatch>;
}

/** From SENTINEL MASTER, of all that were asked the largest. */
export interface SentinelWatch {
  /** How many have to take the master for dead. */
  readonly quorum: number;
  /** How many sentinels watch it. */
  readonly sentinels: number;
  /** Of the master; changes when it is started anew. Empty if it is not told. */
  readonly runId: string;
  /** The master is taken for dead by the one that was asked. */
  readonly isDown: boolean;
}

/** The servers of a quorum beside each other. */
export interface QuorumFacts {
  readonly nodes: Answers;
  /** Of those that answer; one that hides it is left out. */
  readonly runIds: readonly string[];
  readonly clocks: readonly ClockOffset[];
}
