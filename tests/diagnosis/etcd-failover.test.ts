import { describe, it } from 'vitest';
import { etcd, provesFailover } from './ensembles.js';

describe('on three members of etcd, the cause that is named first', () => {
  it('is the failover, where the leading one died and no other took over in time', () =>
    provesFailover(etcd));
});
