import { spawnSync } from 'node:child_process';

const remedy =
  'run the tests as root, or let users make namespaces (as root: sysctl -w kernel.unprivileged_userns_clone=1 on Debian, kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu); in a container, allow unshare and mount (docker run --security-opt seccomp=unconfined --cap-add SYS_ADMIN)';

/**
 * Runs a Node program in a namespace of the kernel of its own, in which it may do what only root may do elsewhere. Who is
 * not root becomes it in there, by a user namespace. Says what is missing if that is not allowed here.
 *
 * @param {readonly string[]} kinds which, as `unshare` takes them: `--mount`, `--time`
 * @param {readonly string[]} program and its arguments
 * @returns {number} its exit status
 */
export function runInNamespace(kinds, program) {
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user'];
  const inside = [...asRoot, ...kinds, '--fork', '--kill-child'];
  const probe = spawnSync('unshare', [...inside, 'true'], { encoding: 'utf8' });
  if (probe.status !== 0) {
    const why = probe.error?.message ?? probe.stderr.trim();
    console.error(
      `This test needs a namespace of its own (${kinds.join(' ')}): ${why}. To allow it, ${remedy}.`,
    );
    return 1;
  }
  const { status } = spawnSync('unshare', [...inside, process.execPath, ...program], {
    stdio: 'inherit',
  });
  return status ?? 1;
}
