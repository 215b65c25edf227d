import { hostname, userInfo } from 'node:os';
import { longestByBytes, validateHolderId } from '../../coordinators/index.js';
import { checkWords } from '../../coordinators/requests.js';
import { defaultHolderId, defaultTtlMs } from '../../leases/options.js';
import { type DurationLimits, parseDuration, writeDuration } from '../duration.js';
import { addressOf, checkUrl, resolveUrlPath, urlForms } from '../store-url.js';
import { typedName, typedText } from '../typed.js';
import { defaultStorePath } from './places.js';
import type { SettingDefinition } from './setting.js';

/** Everything that can be set, by its key in the config file. */
export const settingTable = {
  url: define<string>({
    flag: '--url',
    placeholder: '<url>',
    variable: 'TENURE_URL',
    meaning: `the store: ${urlForms}`,
    defaultInWords: "a file in the user's state folder",
    defaultText: (surroundings) => `sqlite:${defaultStorePath(surroundings)}`,
    parse: checkUrl,
    fromFile: resolveUrlPath,
    show: addressOf,
  }),
  namespace: define<string>({
    flag: '--namespace',
    placeholder: '<name>',
    variable: 'TENURE_NAMESPACE',
    meaning: 'names of different namespaces do not meet',
    defaultText: () => 'default',
    parse: typedName,
  }),
  id: define<string>({
    flag: '--id',
    placeholder: '<id>',
    variable: 'TENURE_ID',
    meaning: 'who this process is, the same after a restart',
    defaultInWords: 'host name and process id',
    defaultText: () => defaultHolderId(),
    parse: (text, source) => validateHolderId(typedText(text, source), source),
  }),
  ttl: duration({
    flag: '--ttl',
    variable: 'TENURE_TTL',
    meaning: 'how long after its last renewal a lease ends',
    defaultText: () => writeDuration(defaultTtlMs),
    limits: { smallestMs: 100 },
  }),
  timeout: duration({
    flag: '--timeout',
    variable: 'TENURE_TIMEOUT',
    meaning: 'how long to wait until the effect is seen',
    defaultText: () => '1m',
    limits: { smallestMs: 1 },
  }),
  by: define<string>({
    flag: '--by',
    placeholder: '<who>',
    variable: 'TENURE_BY',
    meaning: 'who does it, for the history',
    defaultInWords: 'user@host',
    defaultText: userAtHost,
    parse: (text, source) => checkWords(source, typedText(text, source), longestByBytes),
  }),
};

export type SettingKey = keyof typeof settingTable;
export type SettingValue<Key extends SettingKey> = ReturnType<(typeof settingTable)[Key]['parse']>;

export const settingKeys = Object.keys(settingTable) as SettingKey[];

function define<Value>(definition: SettingDefinition<Value>): SettingDefinition<Value> {
  return definition;
}

function duration(
  definition: Pick<SettingDefinition<number>, 'flag' | 'variable' | 'meaning' | 'defaultText'> & {
    readonly limits: DurationLimits;
  },
): SettingDefinition<number> {
  const { limits, ...rest } = definition;
  return {
    ...rest,
    placeholder: '<duration>',
    parse: (text, source) => parseDuration(text, source, limits),
  };
}

function userAtHost(): string {
  return `${userName()}@${hostname()}`;
}

/** A process may run under a number that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
