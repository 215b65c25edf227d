import { channel } from 'node:diagnostics_channel';

/** A fence has refused a token: nothing was written. */
export interface FenceRefusal {
  /** The kind of resource, as `FencePromises.resource` names it. */
  readonly resource: string;
  /** The fenced name. */
  readonly name: string;
  readonly term: number;
  /** `undefined`: the lease itself does not stand, of which a fence beside the leases can tell. */
  readonly installedTerm: number | undefined;
}

/** The effect of a message was recorded already: it was delivered again, and has no second effect. */
export interface RepeatedEffect {
  readonly resource: string;
  readonly scope: string;
  readonly key: string;
  readonly seq: number;
}

interface Notices {
  readonly 'tenure:fence.refused': FenceRefusal;
  readonly 'tenure:fence.repeated': RepeatedEffect;
}

const channels = {
  'tenure:fence.refused': channel('tenure:fence.refused'),
  'tenure:fence.repeated': channel('tenure:fence.repeated'),
};

/**
 * Tells, on a channel of `node:diagnostics_channel` of that name, what happens where no object with listeners is at hand. A
 * reading of one field where nobody listens. A listener that throws does not reach the caller.
 */
export function notice<Name extends keyof Notices>(name: Name, message: Notices[Name]): void {
  const told = channels[name];
  if (told.hasSubscribers) told.publish(message);
}
