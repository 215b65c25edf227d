import type { FaultProxy } from '../../support/proxy.js';
import { type Disturbance, type Step, targetsOf } from './fault.js';

type Act = (proxy: FaultProxy, step: Step) => void;

/** Between some holders and all servers of the store, until it is over: {@link FaultProxy.heal}. */
function between(act: Act): Disturbance {
  return async (scene, step) => {
    const proxies = targetsOf(scene, step).flatMap((seat) => scene.proxiesOf(seat));
    for (const proxy of proxies) act(proxy, step);
    return async () => {
      for (const proxy of proxies) proxy.heal();
    };
  };
}

/** What happens on the way between holders and the store. */
export const networkFaults: Readonly<Record<string, Disturbance>> = {
  /** Partition: nothing passes, and nobody is told. */
  'cut off': between(({ up, down }) => {
    up.swallow();
    down.swallow();
  }),
  /** Partition in one direction: the store hears nothing. */
  'requests lost': between(({ up }) => up.swallow()),
  /** Partition in the other direction: what was asked is done, and nobody hears of it. */
  'replies lost': between(({ down }) => down.swallow()),
  /** Requests arrive when it is over, however old they are by then. */
  'requests held': between(({ up }) => up.hold()),
  'replies held': between(({ down }) => down.hold()),
  delay: between(({ up, down }, { amount }) => {
    const delayMs = Math.round(20 + 400 * Math.abs(amount));
    up.set({ kind: 'delay', delayMs });
    down.set({ kind: 'delay', delayMs });
  }),
  /** Connections are reset, once. */
  reset: between((proxy) => proxy.reset()),
  /** Connections are reset, and new ones too. */
  refused: between((proxy) => {
    proxy.refuse(true);
    proxy.reset();
  }),
};
