import type { SeparateHost, SeparateHosts } from '../stages/separate-hosts.js';
import { type Disturbance, type Scene, type Step, targetsOf } from './fault.js';

export interface Members {
  readonly network: SeparateHosts;
  /** Which of the hosts the leader of the store is on. */
  leaderPlace(): Promise<number>;
}

type Link = readonly [from: SeparateHost, to: SeparateHost];

/** Partitions between the servers of a store. Holders reach all of them, but for the one who is with a minority. */
export function partitionFaults({ network, leaderPlace }: Members): Record<string, Disturbance> {
  const { hosts } = network;
  const hostAt = (place: number): SeparateHost => {
    const host = hosts[place];
    if (host === undefined) throw new Error(`there is no host ${place}`);
    return host;
  };
  const pick = ({ place }: Step) => Math.floor(place * hosts.length);
  const othersOf = (host: SeparateHost) => hosts.filter((other) => other !== host);
  const losing = (links: readonly Link[]) => {
    for (const [from, to] of links) network.lose(from, to);
    return async () => network.heal();
  };
  const apart = (host: SeparateHost): Link[] =>
    othersOf(host).flatMap((other): Link[] => [
      [host, other],
      [other, host],
    ]);
  return {
    /** Nothing passes between the leader and the others, who elect another one. */
    'leader apart': async () => losing(apart(hostAt(await leaderPlace()))),
    'member apart': async (_, step) => losing(apart(hostAt(pick(step)))),
    /** It hears the others, and they do not hear it. */
    async 'leader not heard'() {
      const leader = hostAt(await leaderPlace());
      return losing(othersOf(leader).map((other): Link => [leader, other]));
    },
    /** They hear it, and it does not hear them. */
    async 'leader deaf'() {
      const leader = hostAt(await leaderPlace());
      return losing(othersOf(leader).map((other): Link => [other, leader]));
    },
    /** Two do not reach each other, and both reach the third. */
    async 'two apart'(_, step) {
      const third = hostAt(pick(step));
      const [one, other] = othersOf(third) as [SeparateHost, SeparateHost];
      return losing([
        [one, other],
        [other, one],
      ]);
    },
    /** A holder is with one member, cut off from the rest: with the leader of the store, or with another. */
    async 'minority with a holder'(scene, step) {
      const leader = await leaderPlace();
      const place = step.amount >= 0 ? leader : (leader + 1) % hosts.length;
      const reunite = keepWith(place, scene, step);
      const heal = losing(apart(hostAt(place)));
      return async () => {
        await heal();
        reunite();
      };
    },
  };
}

/** The targets of a step reach one member, and no other. */
function keepWith(place: number, scene: Scene, step: Step): () => void {
  const proxies = targetsOf(scene, { ...step, aim: 'leader' }).flatMap((seat) =>
    scene.proxiesOf(seat).filter((_, index) => index !== place),
  );
  for (const { up, down } of proxies) {
    up.swallow();
    down.swallow();
  }
  return () => {
    for (const proxy of proxies) proxy.heal();
  };
}
