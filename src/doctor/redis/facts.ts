import type { Looked } from '../check.js';
import type { CommonFacts } from '../everywhere.js';
import type { Rights, Shape } from './rights.js';

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
}

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
  readonly info: Looked<ClusterInfo>;
  /** The slot of the namespace, and who owns it; empty: nobody. */
  readonly slot: number;
  readonly owner: string;
}

export interface ClusterInfo {
  readonly state: string;
  readonly slotsAssigned: number;
  readonly slotsOk: number;
  readonly size: number;
}

/** What the sentinels of the URL say of the master. */
export interface SentinelFacts {
  readonly masterName: string;
  readonly sentinels: readonly SentinelAnswer[];
}

export interface SentinelAnswer {
  readonly address: string;
  /** Why it said nothing, if so. */
  readonly failure?: string;
  /** Where it takes the master to be; absent: it knows none of that name. */
  readonly master?: string;
  readonly watch?: Looked<SentinelWatch>;
}

/** From SENTINEL MASTER. */
export interface SentinelWatch {
  readonly quorum: number;
  readonly otherSentinels: number;
  readonly replicas: number;
  readonly flags: string;
  readonly downAfterMs: number;
}

/** The servers of a quorum beside each other. */
export interface QuorumFacts {
  readonly nodes: readonly QuorumNodeFacts[];
}

export interface QuorumNodeFacts {
  readonly address: string;
  /** Why it said nothing, if so. */
  readonly failure?: string;
  readonly runId?: string | undefined;
  readonly offsetMs?: number | undefined;
  readonly uncertaintyMs?: number | undefined;
}
