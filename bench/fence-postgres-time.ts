import { readFileSync } from 'node:fs';

/**
 * Processor time that this process and all that a server has started have used so far, in microseconds; `undefined` where the
 * system does not tell. On a machine on which others work as well it says more of a cost than throughput does.
 */
export function processorTimeUs(serverPid: number): number | undefined {
  const { user, system } = process.cpuUsage();
  const ofServer = childrenOf(serverPid)?.map(runTimeUs);
  return ofServer?.reduce((sum, one) => sum + one, user + system);
}

function childrenOf(pid: number): readonly string[] | undefined {
  const text = readProc(`${pid}/task/${pid}/children`);
  return text?.split(' ').filter((word) => word.trim() !== '');
}

/** Of one that has ended meanwhile: 0. */
function runTimeUs(pid: string): number {
  const [runTimeNs = '0'] = readProc(`${pid}/schedstat`)?.split(' ') ?? [];
  return Number(runTimeNs) / 1000;
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return undefined;
  }
}
