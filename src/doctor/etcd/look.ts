import { etcdPromises } from '../../coordinators/etcd/promises.js';
import { type Endpoint, endpointText } from '../../drivers/endpoint.js';
import type { EtcdClient } from '../../drivers/etcd/client.js';
import type { EtcdLocation } from '../../drivers/etcd/location.js';
import { StoreMisconfiguredError, type TenureError, UnreachableError } from '../../errors/index.js';
import { type Looked, seen, unseen } from '../check.js';
import type { Purpose } from '../finding.js';
import { type Soundings, sound } from '../soundings.js';
import { isLoopback } from '../way.js';
import { lookAtAccess } from './access.js';
import { ask, countKeys, isDenial, withClient } from './asking.js';
import type { EndpointFacts, EtcdFacts, MemberFacts } from './facts.js';
import { rawAnswer } from './raw.js';

const statusPath = '/v3/maintenance/status';
const memberListPath = '/v3/cluster/member/list';

/** All that is asked of a cluster. Nothing of it writes. @throws {TenureError} if no member answers. */
export async function lookAtCluster(location: EtcdLocation, purpose: Purpose): Promise<EtcdFacts> {
  const endpoints = await Promise.all(
    location.endpoints.map((endpoint) => lookAtEndpoint(location, endpoint, purpose)),
  );
  const answering = endpoints.filter(({ facts }) => facts.version !== undefined);
  const [first] = answering;
  if (first === undefined) return withoutAnswer(location, endpoints);
  // Those that are gone would be asked again and again, and nothing else be heard of.
  const reached = { ...location, endpoints: answering.map(({ endpoint }) => endpoint) };
  return withClient(reached, purpose, async (client) => {
    const quorumFailure = await lookAtQuorum(client, purpose);
    const hasQuorum = quorumFailure === undefined;
    const soundings = hasQuorum ? await soundingsOf(client, reached, purpose) : undefined;
    return {
      ...common(location),
      ...(soundings !== undefined && { soundings }),
      endpoints: endpoints.map(({ facts }) => facts),
      members: await lookAtMembers(client, purpose),
      ...(quorumFailure !== undefined && { quorumFailure }),
      access: hasQuorum ? await lookAtAccess(client, reached, purpose) : noMajority,
    };
  });
}

const noMajority = unseen('no majority answers', 'bring the other members back first');

interface Asked {
  readonly endpoint: Endpoint;
  readonly facts: EndpointFacts;
  readonly error?: unknown;
}

/** An etcd without its gateway has one thing to be told of; where there is none at all, there is nothing to judge. */
function withoutAnswer(location: EtcdLocation, asked: readonly Asked[]): EtcdFacts {
  if (!asked.some(({ facts }) => facts.isWithoutGateway)) throw asked[0]?.error;
  const unknown = unseen('the JSON gateway is off', 'start the members with --enable-grpc-gateway');
  return {
    ...common(location),
    endpoints: asked.map(({ facts }) => facts),
    ...{ members: unknown, access: unknown },
    quorumFailure: 'it cannot be asked',
  };
}

function common({ endpoints, tls, user, password }: EtcdLocation) {
  const isLocal = endpoints.every(({ host }) => isLoopback(host));
  const way = {
    host: endpoints.map(endpointText).join(', '),
    isTls: tls !== undefined,
    isLocal,
    hasPassword: user !== undefined && password !== '',
    tlsRemedy: 'give the members --cert-file and --key-file, and write etcds for etcd in the URL',
  };
  return { promises: etcdPromises, way, isLocal };
}

interface Status {
  readonly header?: { readonly cluster_id?: string; readonly member_id?: string };
  readonly version?: string;
  readonly dbSize?: string;
  readonly dbSizeQuota?: string;
  /** Alarms, each as `memberID:1 alarm:NOSPACE`, and that there is no leader. */
  readonly errors?: readonly string[];
}

async function lookAtEndpoint(
  location: EtcdLocation,
  endpoint: Endpoint,
  purpose: Purpose,
): Promise<Asked> {
  const address = endpointText(endpoint);
  // Without the login, which a member without a majority cannot check, and does not need for that.
  const alone = { ...location, endpoints: [endpoint], user: undefined, password: undefined };
  // A member that hangs is a member that is missing: the others are looked at meanwhile.
  const timeoutMs = purpose.timeoutMs / 2;
  try {
    const { answer, knows } = await withClient(alone, purpose, async (client) => ({
      answer: await ask(client, statusPath, 'its status', timeoutMs),
      knows: await idsKnownTo(client, timeoutMs),
    }));
    const status = answer as Status;
    const facts = {
      address,
      version: status.version ?? '',
      clusterId: status.header?.cluster_id ?? '',
      memberId: status.header?.member_id ?? '',
      ...(knows !== undefined && { knows }),
      usedBytes: Number(status.dbSize ?? 0),
      quotaBytes: status.dbSizeQuota === undefined ? undefined : Number(status.dbSizeQuota),
      alarms: (status.errors ?? []).flatMap((text) => /alarm:(\w+)/.exec(text)?.[1] ?? []),
    };
    return { endpoint, facts };
  } catch (error) {
    const raw = await rawAnswer(location, endpoint, statusPath, { ...purpose, timeoutMs });
    if (raw?.status === 404) return { endpoint, facts: { address, isWithoutGateway: true }, error };
    return { endpoint, facts: { address, failure: failureText(address, error) }, error };
  }
}

/** Whom one member takes for members, as far as it says so without a login, or a majority. */
async function idsKnownTo(client: EtcdClient, timeoutMs: number): Promise<string[] | undefined> {
  try {
    const raw = await ask(client, memberListPath, 'its list of members', timeoutMs);
    const { members = [] } = raw as { members?: { ID?: string }[] };
    return members.map(({ ID = '' }) => ID).sort();
  } catch {
    return undefined;
  }
}

function failureText(address: string, error: unknown): string {
  const { message } = error as TenureError;
  // `its status was not sent: host:port: why.`
  const [, why] = /^its status (?:was not sent|has no answer): (.*?)\.?$/s.exec(message) ?? [];
  const text = (why ?? message).replace(/\.? It may have been executed$/, '');
  return text.startsWith(address) ? text : `${address}: ${text}`;
}

/** A read that a majority confirms. Why it was not, if so. @throws {StoreMisconfiguredError} for a login that fails. */
async function lookAtQuorum(client: EtcdClient, purpose: Purpose): Promise<string | undefined> {
  try {
    // Half of the time is enough for an election to end meanwhile.
    await countKeys(client, { ...purpose, timeoutMs: purpose.timeoutMs / 2 });
    return undefined;
  } catch (error) {
    if (error instanceof StoreMisconfiguredError && !isDenial(error)) throw error;
    return isDenial(error) ? undefined : (error as Error).message.replace(/\.$/, '');
  }
}

async function soundingsOf(
  client: EtcdClient,
  location: EtcdLocation,
  purpose: Purpose,
): Promise<Soundings> {
  const { runtime } = purpose;
  const trips = await sound(runtime, async () => {
    await countKeys(client, purpose).catch((error) => {
      if (!isDenial(error)) throw error;
    });
    return undefined;
  });
  // The date in the head of an answer is cut to whole seconds: on average it is half of one behind.
  const [endpoint] = location.endpoints;
  if (endpoint === undefined) return trips;
  const sent = runtime.now();
  const answer = await rawAnswer(location, endpoint, statusPath, purpose);
  if (answer?.dateMs === undefined) return trips;
  const tripMs = runtime.now().monotonicMs - sent.monotonicMs;
  const offsetMs = answer.dateMs + 500 - (sent.wallMs + tripMs / 2);
  return { ...trips, clock: { offsetMs, uncertaintyMs: 500 + tripMs / 2 } };
}

function lookAtMembers(client: EtcdClient, { timeoutMs }: Purpose) {
  return looked<readonly MemberFacts[]>(
    ask(client, memberListPath, 'the list of members', timeoutMs),
    'the list of members',
    (raw) =>
      ((raw as { members?: { name?: string; isLearner?: boolean }[] }).members ?? []).map(
        ({ name = '', isLearner = false }) => ({ name, isLearner }),
      ),
  );
}

async function looked<Fact>(
  asked: Promise<unknown>,
  what: string,
  read: (raw: unknown) => Fact,
): Promise<Looked<Fact>> {
  try {
    return seen(read(await asked));
  } catch (error) {
    if (error instanceof StoreMisconfiguredError)
      return unseen(`the user may not see ${what}`, 'run the doctor as root once: root:PASSWORD@');
    if (error instanceof UnreachableError)
      return unseen(`nobody tells ${what}`, 'bring the other members back first');
    throw error;
  }
}
