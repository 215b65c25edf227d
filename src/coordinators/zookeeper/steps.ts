import {
  ConnectionLostError,
  errorCode,
  isZooKeeperError,
  type NodeContent,
  type NodeOperation,
  type NodeOperationResult,
  type ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import type { AcquireRequest, AcquireResult, CoordinatorPromises } from '../contract.js';
import { groupOf } from '../names.js';
import type { StoredCandidate } from '../rules/candidate.js';
import type { Ledger } from '../rules/ledger.js';
import type { LedgerStep } from '../rules/ledger-coordinator.js';
import { type NameChange, SnapshotLedger } from '../rules/snapshot.js';
import { allOf, type Call } from './call.js';
import { type LoadedName, type LoadOptions, NameLoader } from './loading.js';
import { nothingWithoutNode } from './nodes.js';
import type { ZooKeeperPaths } from './paths.js';
import { type Plan, Planner } from './plans.js';
import type { ServerClock } from './server-clock.js';
import { type Sessions, unless } from './sessions.js';
import { type SnapshotOfName, snapshotOf } from './snapshots.js';
import type { TendedNodes } from './tended.js';
import { epochOf, type TermBase, termBase } from './terms.js';

/** A multi is one packet, of at most a megabyte with the servers' usual limit, and holds up all others while it runs. */
const plansPerMulti = 100;
const bytesPerMulti = 400_000;
const empty = Buffer.alloc(0);

/** Answered by a list in the order of the names. */
const batchOperations = ['acquire', 'renew', 'release', 'handoff', 'read', 'enroll', 'withdraw'];
/** Nothing is granted, so that nobody needs to know what terms are counted from. */
const termless = ['read', 'list', 'enroll', 'withdraw', 'candidates'];

export interface StepsOptions {
  readonly paths: ZooKeeperPaths;
  readonly sessions: Sessions;
  readonly clock: ServerClock;
  readonly tended: TendedNodes;
  readonly promises: CoordinatorPromises;
}

/** What a step came to. */
export interface StepOutcome<Answer> {
  readonly answer: Answer;
  /** Names that have become another thing, and those that have no owner any more. */
  readonly alteredNames: readonly string[];
  readonly vacatedNames: readonly string[];
}

export type StepReading = Pick<LoadOptions, 'wanted' | 'isAwaited'>;

interface Round {
  readonly control: ZooKeeperConnection;
  readonly nowMs: number;
  /** No lower than that of any transaction that somebody had been told of before the round. */
  readonly knownZxid: number;
  /** What terms are counted from if the grant has to be above this. */
  termsAbove(above: number): TermBase;
  readonly loaded: readonly LoadedName[];
  readonly seen: readonly SnapshotOfName[];
}

/**
 * Runs a step of the rules on ZooKeeper: read the names, run the rules on what was read, and write under the condition
 * that it is still so; what somebody else changed meanwhile is read and judged anew.
 */
export class Steps {
  readonly loader: NameLoader;
  readonly #options: StepsOptions;
  readonly #planner: Planner;
  /** Groups whose node is there, as far as we know. */
  readonly #groups = new Set<string>();
  readonly #wanted = new WeakMap<Ledger, readonly AcquireRequest[]>();
  readonly #terms = new WeakMap<object, number>();

  constructor(options: StepsOptions) {
    this.#options = options;
    this.loader = new NameLoader(options.paths);
    this.#planner = new Planner(options.paths, options.sessions, options.promises);
  }

  /** Whether the time of an entry is not over. */
  readonly isAlive = ({ deadlineMs }: StoredCandidate): boolean =>
    deadlineMs > this.#options.clock.nowMs();

  /** Notes what an acquire asks for, before the rules run on the ledger. */
  wants(ledger: Ledger, requests: readonly AcquireRequest[]): void {
    this.#wanted.set(ledger, requests);
  }

  /** The result with the term that its transaction gave it: the rules only foretell one. */
  withTerm(result: AcquireResult): AcquireResult {
    const term = this.#terms.get(result);
    return term === undefined ? result : { outcome: 'granted', term };
  }

  /** @param options whose entries of a name are looked at, and whether somebody waits for it; default: nobody. */
  async run<Answer>(
    call: Call,
    step: LedgerStep<Answer>,
    options: StepReading = {},
  ): Promise<StepOutcome<Answer>> {
    const isBatch = batchOperations.includes(step.operation);
    const settled = new Map<number, unknown>();
    const altered = new Set<string>();
    const vacated = new Set<string>();
    for (;;) {
      const round = await this.#read(call, step, options);
      const { nowMs, control } = round;
      const ledger = ledgerOf(round);
      const answer = step.execute(ledger, nowMs);
      const requests = this.#wanted.get(ledger) ?? [];
      const granting = round.termsAbove(highestAbove(requests, ledger.changes()));
      const { base } = granting;
      const plans = this.#plans(round, ledger, base).filter(({ index }) => !settled.has(index));
      const written = await this.#write(call, control, plans, granting);
      for (const plan of plans) {
        const zxid = written.get(plan.index);
        if (zxid === undefined) continue;
        const own = isBatch ? (answer as unknown[])[plan.index] : answer;
        settled.set(plan.index, own);
        if (plan.foretold !== undefined) this.#terms.set(own as object, base + zxid);
        if (ledger.alteredNames.has(plan.name)) altered.add(plan.name);
        if (ledger.vacatedNames.has(plan.name)) vacated.add(plan.name);
      }
      if (written.size < plans.length) continue;
      const whole = isBatch ? merged(answer as unknown[], settled) : (settled.get(0) ?? answer);
      return { answer: whole as Answer, alteredNames: [...altered], vacatedNames: [...vacated] };
    }
  }

  async #read(
    call: Call,
    { scope, operation }: LedgerStep<unknown>,
    options: StepReading,
  ): Promise<Round> {
    const { sessions, clock } = this.#options;
    const control = await call.connection(sessions.control);
    // Not awaited first: requests of one connection are executed in their order.
    const barrier = this.#barrier(call, control);
    const terms = termless.includes(operation) ? noTerms : this.#readTerms(call, control);
    const load = async () => {
      const names =
        'names' in scope ? scope.names : await this.#namesIn(call, control, scope.group);
      return this.loader.load(call, control, names, options);
    };
    const [read, termsAbove] = await Promise.all([load(), terms, barrier]);
    const nowMs = clock.nowMs();
    const loaded = read.map((one) => ({ ...one, isOverdue: this.#isOverdue(one) }));
    const seen = loaded.map((one) => snapshotOf(one, nowMs));
    return { control, nowMs, knownZxid: control.lastZxid, termsAbove, loaded, seen };
  }

  async #readTerms(call: Call, control: ZooKeeperConnection): Promise<Round['termsAbove']> {
    const { paths } = this.#options;
    const [root, granted] = await Promise.all(
      [paths.root, paths.granted].map((path) =>
        call
          .ask(control, () => control.getData(path))
          .catch((error) => this.#withoutRoot(control, error)),
      ),
    );
    const knownZxid = control.lastZxid;
    return (above) =>
      termBase(root as NodeContent, granted as NodeContent, knownZxid, above, paths);
  }

  /** Somebody has deleted the namespace: another connection makes it anew. */
  #withoutRoot(control: ZooKeeperConnection, error: unknown): never {
    if (!isZooKeeperError(error, errorCode.noNode)) throw error;
    this.#groups.clear();
    control.destroy('the nodes of the namespace are gone');
    throw new ConnectionLostError('the nodes of the namespace are gone');
  }

  #isOverdue({ name, state, leaseNode }: LoadedName): boolean {
    if (state.lease === undefined || leaseNode === undefined) return false;
    const path = this.#options.paths.lease(name, state.lease.attempt);
    return this.#options.tended.isOverdue(path, leaseNode.stat.modifiedZxid);
  }

  /** What is read after it is at least as new as what anybody had been told before. A write also tells the time. */
  async #barrier(call: Call, control: ZooKeeperConnection): Promise<void> {
    const { sessions, clock, paths } = this.#options;
    if (clock.isFresh) return call.ask(control, () => control.sync(paths.root));
    const { stat } = await call.ask(control, () =>
      control.setData(sessions.guardOf(control), empty),
    );
    if (stat !== undefined) clock.learn(stat.modifiedAtMs);
  }

  async #namesIn(call: Call, control: ZooKeeperConnection, group: string): Promise<string[]> {
    const { paths } = this.#options;
    const children = await call
      .ask(control, () => control.getChildren(paths.group(group)))
      .catch(nothingWithoutNode);
    return (children ?? []).flatMap((child) => paths.nameIn(group, child) ?? []);
  }

  #plans(
    { loaded, seen, nowMs, knownZxid }: Round,
    ledger: SnapshotLedger,
    termBase: number,
  ): Plan[] {
    const changes = ledger.changes();
    return loaded.flatMap((one, index) => {
      const change = changes.get(one.name) ?? unchanged;
      const seenOne = seen[index] as SnapshotOfName;
      if (change === unchanged && !seenOne.isUnsettled) return [];
      const parts = { index, loaded: one, seen: seenOne, change, termBase, nowMs, knownZxid };
      return this.#planner.plan(parts);
    });
  }

  /** @returns the number of the transaction of each plan that was carried out; the others met another state. */
  async #write(
    call: Call,
    control: ZooKeeperConnection,
    plans: readonly Plan[],
    granting: TermBase,
  ): Promise<Map<number, number>> {
    const written = new Map<number, number>();
    if (plans.length === 0) return written;
    await this.#makeGroups(call, control, plans);
    await allOf(
      bundles(plans).map(async (bundle) => {
        const zxid = await this.#commit(call, control, bundle, granting);
        if (zxid !== undefined) for (const { index } of bundle) written.set(index, zxid);
      }),
    );
    return written;
  }

  async #makeGroups(
    call: Call,
    control: ZooKeeperConnection,
    plans: readonly Plan[],
  ): Promise<void> {
    const groups = new Set(plans.filter(({ isNew }) => isNew).map(({ name }) => groupOf(name)));
    const unknown = [...groups].filter((group) => !this.#groups.has(group));
    await Promise.all(
      unknown.map(async (group) => {
        const path = this.#options.paths.group(group);
        await call
          .ask(control, () => control.create({ path, data: empty }))
          .catch(unless(errorCode.nodeExists));
        this.#groups.add(group);
      }),
    );
  }

  /** One transaction. @returns its number, or nothing if something was not as it was read. */
  async #commit(
    call: Call,
    control: ZooKeeperConnection,
    bundle: readonly Plan[],
    granting: TermBase,
  ): Promise<number | undefined> {
    const { sessions, tended } = this.#options;
    const session = bundle[0]?.session;
    const guard = sessions.guardOf(control);
    const connection = session === undefined ? control : await call.connection(session.link);
    const isGrant = bundle.some(({ foretold }) => foretold !== undefined);
    // An election has come between. A connection ends with the leader it began under, so what goes over this one now is
    // executed in its epoch, or not at all.
    if (isGrant && epochOf(connection.lastZxid) !== granting.epoch) return undefined;
    const operations: NodeOperation[] = [
      { kind: 'set', path: guard, data: empty },
      ...(isGrant ? granting.operations : []),
      ...bundle.flatMap((plan) => plan.operations),
    ];
    const made = bundle.flatMap(({ tends }) => tends);
    // From before it is sent: what was executed and never answered has to end too.
    for (const node of made) if (tended.get(node.path) === undefined) tended.tend(node);
    const results = await this.#multi(call, connection, operations);
    if (results === undefined) return undefined;
    const stat = results[0]?.stat;
    if (stat === undefined) throw new RangeError('the answer to a transaction has no number');
    const { modifiedZxid } = stat;
    this.#options.clock.learn(stat.modifiedAtMs);
    for (const path of bundle.flatMap(({ ends }) => ends)) tended.forget(path);
    for (const { tends, foretold } of bundle) {
      const known = foretold === undefined ? {} : { term: granting.base + modifiedZxid };
      for (const node of tends)
        tended.tend({ ...node, modifiedZxid, ...(node.kind === 'lease' ? known : {}) });
    }
    return modifiedZxid;
  }

  async #multi(
    call: Call,
    connection: ZooKeeperConnection,
    operations: readonly NodeOperation[],
  ): Promise<readonly NodeOperationResult[] | undefined> {
    try {
      return await call.write(connection, () => connection.multi(operations));
    } catch (error) {
      return this.#judge(error);
    }
  }

  #judge(error: unknown): undefined {
    const { failedIndex } = error as { failedIndex?: number };
    if (!isZooKeeperError(error, ...conflicts)) throw error;
    if (failedIndex === 0) {
      // The guard is gone: whatever is sent under it is refused from now on.
      this.#options.sessions.control.connection?.destroy('its session has ended');
      throw new ConnectionLostError('the session of the control connection has ended');
    }
    if (isZooKeeperError(error, errorCode.noNode)) this.#groups.clear();
    return undefined;
  }
}

const unchanged: NameChange = {};
const noTerms = () => ({ base: 0, epoch: 0, operations: [] });
const conflicts = [
  errorCode.badVersion,
  errorCode.nodeExists,
  errorCode.noNode,
  errorCode.notEmpty,
];

function ledgerOf({ loaded, seen, nowMs, termsAbove, control }: Round): SnapshotLedger {
  const names = new Map(loaded.map(({ name }, index) => [name, seen[index]?.snapshot ?? {}]));
  // No term was granted above this; the rules foretell one that is higher than it.
  const lastTerm = termsAbove(0).base + control.lastZxid;
  return new SnapshotLedger(names, { wallMs: nowMs, lastTerm });
}

/** The highest `above` of what is granted. */
function highestAbove(
  requests: readonly AcquireRequest[],
  changes: ReadonlyMap<string, NameChange>,
): number {
  return requests.reduce((highest, { name, above = 0 }) => {
    const isGranted = changes.get(name)?.record?.after?.kind === 'lease';
    return isGranted ? Math.max(highest, above) : highest;
  }, 0);
}

function merged(answer: readonly unknown[], settled: ReadonlyMap<number, unknown>): unknown[] {
  return answer.map((one, index) => settled.get(index) ?? one);
}

/** As many plans in one transaction as go over one connection and fit into one packet. */
function bundles(plans: readonly Plan[]): Plan[][] {
  const all: Plan[][] = [];
  const open = new Map<Plan['session'], { plans: Plan[]; bytes: number }>();
  for (const plan of plans) {
    const bytes = plan.operations.reduce((sum, operation) => sum + bytesOf(operation), 0);
    const last = open.get(plan.session);
    const isFull =
      last === undefined ||
      last.plans.length >= plansPerMulti ||
      last.bytes + bytes > bytesPerMulti;
    if (!isFull) {
      last.plans.push(plan);
      last.bytes += bytes;
      continue;
    }
    const next = { plans: [plan], bytes };
    open.set(plan.session, next);
    all.push(next.plans);
  }
  return all;
}

function bytesOf(operation: NodeOperation): number {
  return operation.path.length + 64 + ('data' in operation ? operation.data.length : 0);
}
