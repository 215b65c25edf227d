/** The first of each line in which the known defects of leases and reads are mended. */
const fixed: Readonly<Record<string, number>> = { '3.4': 42, '3.5': 28, '3.6': 9 };

/** What is to be said of a server's version; `undefined` if nothing is. */
export function versionWarning(version: string, address: string): string | undefined {
  const [, line = '', patch = '0'] = /^(\d+\.\d+)\.(\d+)/.exec(version) ?? [];
  const [major = 0, minor = 0] = line.split('.').map(Number);
  const firstFixed = fixed[line];
  const isOld = major < 3 || (major === 3 && minor < 4);
  if (!isOld && (firstFixed === undefined || Number(patch) >= firstFixed)) return undefined;
  return `${address} runs etcd ${version}: below 3.4.42, 3.5.28 and 3.6.9 a live lease can be ended after a leader was paused, and a read can be stale. The leader then notices the loss at its next renewal; writes that go through a fence stay safe. Upgrade it.`;
}
