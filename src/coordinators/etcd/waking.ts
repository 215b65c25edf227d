import type { EtcdClient } from '../../drivers/etcd/index.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Call, EnrollRequest, EnrollResult, WithdrawRequest } from '../candidates.js';
import type { Holder } from '../holder.js';
import type { EtcdKeys } from './keys.js';
import type { View } from './reader.js';

export class Waking {
  constructor(
    readonly client: EtcdClient,
    readonly keys: EtcdKeys,
    readonly look: (
      names: readonly string[],
      operation: string,
      timeoutMs: number,
    ) => Promise<View>,
  ) {}
  watch(_group: string, _wake: (name: string | undefined) => void): Unsubscribe {
    return () => {};
  }
  onCalled(_holder: Holder, _called: (call: Call) => void): Unsubscribe {
    return () => {};
  }
  enrolled(_requests: readonly EnrollRequest[], _results: readonly EnrollResult[]): void {}
  withdrawn(_requests: readonly WithdrawRequest[]): void {}
  close(): void {}
}
