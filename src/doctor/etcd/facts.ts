import type { Looked } from '../check.js';
import type { CommonFacts } from '../everywhere.js';

/** What a cluster says, and the members that the URL names. */
export interface EtcdFacts extends CommonFacts {
  readonly endpoints: readonly EndpointFacts[];
  /** All members there are. */
  readonly members: Looked<readonly MemberFacts[]>;
  /** Why a read that a majority has to confirm was not answered; absent: it was. */
  readonly quorumFailure?: string;
  readonly isLocal: boolean;
  readonly access: Looked<Access>;
}

export interface EndpointFacts {
  readonly address: string;
  /** Why it said nothing, if so. */
  readonly failure?: string;
  /** It is an etcd whose JSON gateway is off. */
  readonly isWithoutGateway?: boolean;
  readonly version?: string;
  /** Of the cluster that it is in; empty if it is not told. */
  readonly clusterId?: string;
  /** Its own. */
  readonly memberId?: string;
  /** Whom it takes for the members, by their ids in order; absent if it may not be asked. */
  readonly knows?: readonly string[];
  /** `NOSPACE`, `CORRUPT`. */
  readonly alarms?: readonly string[];
  readonly usedBytes?: number;
  /** Told from 3.6 on. */
  readonly quotaBytes?: number | undefined;
}

export interface MemberFacts {
  readonly name: string;
  readonly isLearner: boolean;
}

export interface Access {
  /** Whether the cluster asks for users at all. */
  readonly isOn: boolean;
  /** Members show, and demand, certificates. */
  readonly hasCertificate: boolean;
  readonly user: string;
  /** Where the namespace is; `undefined` while nobody may. */
  readonly mayWrite: boolean | undefined;
  /** It may manage users, which is all. */
  readonly isRoot: boolean;
}
