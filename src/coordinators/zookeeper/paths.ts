import { encodeName, groupOf, validateName } from '../names.js';
import { type Place, parsePlace, placeText } from './places.js';

/** What stands for the root group, whose name is empty; no encoded name is a lone `%`. */
const rootGroup = '%';
const leasePrefix = 'lease-';
const candidatePrefix = 'candidate-';

/** Where the nodes of one namespace are. No text of a user stands in a path unencoded. */
export class ZooKeeperPaths {
  readonly chroot: string;
  readonly root: string;
  readonly names: string;
  readonly sessions: string;
  readonly bells: string;
  readonly documents: string;
  /** Written with each grant: its number is that of the last one. */
  readonly granted: string;

  /** @throws {OptionError} if the namespace is none. */
  constructor(chroot: string, namespace: string) {
    this.chroot = chroot;
    this.root = `${chroot}/tenure/${encodeName(validateName(namespace, 'namespace'))}`;
    this.names = `${this.root}/names`;
    this.sessions = `${this.root}/sessions`;
    this.bells = `${this.root}/bells`;
    this.granted = `${this.root}/granted`;
    this.documents = `${this.root}/documents`;
  }

  /** The nodes that have to be there, each after the one above it. */
  get standing(): string[] {
    const above = this.root.split('/').slice(1);
    const roots = above.map((_, index) => `/${above.slice(0, index + 1).join('/')}`);
    return [...roots, this.names, this.sessions, this.bells, this.granted, this.documents];
  }

  group(group: string): string {
    return `${this.names}/${segmentOf(group)}`;
  }

  name(name: string): string {
    const segment = name.slice(name.lastIndexOf('/') + 1);
    return `${this.group(groupOf(name))}/${encodeName(segment)}`;
  }

  /** The name in a group that a child of the group's node stands for; `undefined` if it is none of ours. */
  nameIn(group: string, child: string): string | undefined {
    try {
      const segment = decodeURIComponent(child);
      if (encodeName(segment) !== child) return undefined;
      return validateName(group === '' ? segment : `${group}/${segment}`);
    } catch {
      return undefined;
    }
  }

  groupIn(child: string): string | undefined {
    if (child === rootGroup) return '';
    try {
      return validateName(decodeURIComponent(child));
    } catch {
      return undefined;
    }
  }

  /** Each grant has a node of its own: whoever knows the attempt of one never meets that of another. */
  lease(name: string, attempt: string): string {
    return `${this.name(name)}/${leasePrefix}${attempt}`;
  }

  /** Whether a child of a name's node is that of a lease. */
  isLease(child: string): boolean {
    return child.startsWith(leasePrefix);
  }

  candidate(name: string, place: Place): string {
    return `${this.name(name)}/${candidatePrefix}${placeText(place)}`;
  }

  /** Whose place a child of a name's node is; `undefined` if it is none. */
  placeIn(child: string): Place | undefined {
    return child.startsWith(candidatePrefix)
      ? parsePlace(child.slice(candidatePrefix.length))
      : undefined;
  }

  session(nonce: string): string {
    return `${this.sessions}/${nonce}`;
  }

  bell(group: string): string {
    return `${this.bells}/${segmentOf(group)}`;
  }

  document(name: string): string {
    return `${this.documents}/${encodeName(name)}`;
  }
}

function segmentOf(group: string): string {
  return group === '' ? rootGroup : encodeName(group);
}
