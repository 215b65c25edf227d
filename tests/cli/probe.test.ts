import { describe, expect, it } from 'vitest';
import { probeOf } from '../../src/cli/probe.js';

describe('the command that looks whether a store is there', () => {
  it.each([
    ['sqlite:/var/lib/tenure.db', 'ls -l /var/lib/tenure.db'],
    ['redis://h:6379/1', 'redis-cli -u redis://h:6379/1 ping'],
    ['redis://ops:***@h/1', 'redis-cli -u redis://h/1 --user ops --askpass ping'],
    ['redis://:***@h', 'redis-cli -u redis://h --askpass ping'],
    ['postgres://app:***@h/app', "psql postgres://app@h/app -c 'select 1'"],
    [
      'postgres://app:***@h/app?sslmode=require',
      "psql 'postgres://app@h/app?sslmode=require' -c 'select 1'",
    ],
    [
      'etcds://ops:***@h1?ca=/ca.pem',
      'ETCDCTL_API=3 etcdctl --endpoints=https://h1:2379 --cacert=/ca.pem --user=ops endpoint health',
    ],
    ['mysql://root@127.0.0.1:1', "mariadb -h 127.0.0.1 -P 1 -u root -e 'select 1'"],
    ['mariadb://app:***@[::1]/x', "mariadb -h ::1 -P 3306 -u app -p -e 'select 1'"],
    ['postgres://h/app?schema=leases', "psql postgres://h/app -c 'select 1'"],
    [
      'etcd://h1:2380,h2,[::1]',
      'ETCDCTL_API=3 etcdctl --endpoints=h1:2380,h2:2379,[::1]:2379 endpoint health',
    ],
    ['etcds://h1', 'ETCDCTL_API=3 etcdctl --endpoints=https://h1:2379 endpoint health'],
    ['zookeeper://h1,[::1]:2182/x', 'echo srvr | nc h1 2181;\n           echo srvr | nc ::1 2182'],
    ['redis+sentinel://h1/main', 'redis-cli -h h1 -p 26379 sentinel get-master-addr-by-name main'],
    ['rediss+cluster://h1:7000,h2', 'redis-cli -u rediss://h1:7000 cluster info'],
    [
      'redis+quorum://h1,h2:1',
      'redis-cli -u redis://h1 ping;\n           redis-cli -u redis://h2:1 ping',
    ],
  ])('of %s is %s', (address, command) => {
    expect(probeOf(address)).toBe(command);
  });
});
