import type { CoordinatorPromises } from '../coordinators/index.js';
import { sayMs } from '../errors/say.js';
import { resolveTiming } from '../leases/options.js';
import { type Check, critical, ok, warning } from './check.js';
import type { Soundings } from './soundings.js';
import type { Way } from './way.js';

/** What is looked at on every store. */
export interface CommonFacts {
  readonly promises: CoordinatorPromises;
  /** Absent for a store that is asked over no network. */
  readonly soundings?: Soundings;
  readonly way?: Way;
}

/** Below that nobody has to do anything: an ordinary machine that asks the time over a network is no more exact. */
const tolerableOffsetMs = 500;

export const checksEverywhere: readonly Check<CommonFacts>[] = [
  {
    id: 'ttl',
    severities: ['critical'],
    risk: 'the store refuses every lease of this ttl',
    remedy: 'choose a ttl (--ttl, TENURE_TTL) that the store grants',
    judge({ promises: { smallestTtlMs, largestTtlMs } }, { ttlMs }) {
      const range = `${sayMs(smallestTtlMs)} to ${sayMs(largestTtlMs)}`;
      if (ttlMs < smallestTtlMs || ttlMs > largestTtlMs)
        return critical(`a ttl of ${sayMs(ttlMs)} is asked for, and ${range} is granted`);
      return ok(`${sayMs(ttlMs)}, of ${range} that are granted`);
    },
  },
  {
    id: 'round-trip',
    severities: ['critical', 'warning'],
    risk: 'a renewal is given up before its answer is here, so that leases become uncertain and end although nobody failed',
    remedy: 'lengthen the ttl (--ttl, TENURE_TTL), or bring the store nearer',
    judge({ soundings }, { ttlMs }) {
      if (soundings === undefined) return undefined;
      const { count, medianMs, worstMs } = soundings;
      const { attemptTimeoutMs: limitMs } = resolveTiming({ ttlMs });
      const text = `median ${sayMs(medianMs)}, worst ${sayMs(worstMs)} of ${count}; a renewal has ${sayMs(limitMs)}`;
      const remedy = `set a ttl of at least ${neededTtlS(worstMs)} s (--ttl, TENURE_TTL), or bring the store nearer`;
      if (medianMs >= limitMs) return critical(text, { remedy });
      if (worstMs >= limitMs / 2) return warning(text, { remedy });
      return ok(text);
    },
  },
  {
    id: 'clock-offset',
    severities: ['critical', 'warning'],
    risk: 'when that clock is put right in one step, leases end early or outlast their ttl; and times that are shown are wrong',
    remedy:
      'run a time service (chrony, systemd-timesyncd) on both machines: `timedatectl set-ntp true`',
    judge({ soundings, promises }, { ttlMs }) {
      const clock = soundings?.clock;
      if (clock === undefined) return undefined;
      const sureMs = Math.max(0, Math.abs(clock.offsetMs) - clock.uncertaintyMs);
      const text = `the store's clock is ${sayOffset(clock.offsetMs)} this machine's (give or take ${sayMs(clock.uncertaintyMs)})`;
      if (sureMs < tolerableOffsetMs) return ok(text);
      if (promises.expiryClock === 'server-wall' && sureMs >= ttlMs) return critical(text);
      const risk =
        promises.expiryClock === 'server-wall' ? {} : { risk: 'times that are shown are wrong' };
      return warning(text, risk);
    },
  },
  {
    id: 'tls',
    severities: ['warning'],
    risk: 'whoever is on the network between reads the password and the holders, and can change what is answered',
    remedy: 'let the server speak TLS, and say so in the URL',
    judge({ way }) {
      if (way === undefined) return undefined;
      if (way.isTls) return ok('the connection is encrypted');
      if (way.isLocal) return ok('in plain text, within this machine');
      const secret = way.hasPassword ? ', the password as well' : '';
      const text = `${way.host} is asked in plain text${secret}`;
      return warning(text, { remedy: way.tlsRemedy });
    },
  },
];

/** So that the worst answer that was seen takes less than half of what a renewal has. */
function neededTtlS(worstMs: number): number {
  return Math.floor((worstMs * 2 * attemptsInTtl) / 1_000) + 1;
}

/** A renewal has a quarter of a third of the ttl. */
const attemptsInTtl = 12;

function sayOffset(offsetMs: number): string {
  return `${sayMs(Math.abs(offsetMs))} ${offsetMs < 0 ? 'behind' : 'ahead of'}`;
}
