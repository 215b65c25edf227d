import { expect, it } from 'vitest';
import { warningAbout } from '../../src/coordinators/zookeeper/warnings.js';
import { parseZooKeeperUrl } from '../../src/drivers/zookeeper/index.js';

it.each([
  ['zookeeper://h1,h2', 'everybody who can connect'],
  ['zookeeper://user:geheim@h1', 'without TLS'],
  ['zookeeper://user:geheim@localhost,h2', 'without TLS'],
])('%s: something should be changed', (url, warning) => {
  const message = warningAbout(parseZooKeeperUrl(url));
  expect(message).toContain(warning);
  expect(message).not.toContain('geheim');
});

it.each(['zookeeper://user:geheim@localhost', 'zookeeper://user:geheim@127.0.0.1:1,[::1]:2'])(
  '%s: a password that does not leave the machine is read by nobody',
  (url) => {
    expect(warningAbout(parseZooKeeperUrl(url))).toBeUndefined();
  },
);
