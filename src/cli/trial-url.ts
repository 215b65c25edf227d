import { defaultSource, type Setting } from './settings/setting.js';
import { memoryUrl } from './store-url.js';

export const trialUrlVariable = 'REDIS_URL';

/**
 * Where `demo` and `selftest` work: `--url`, else `REDIS_URL`, else within this process. The store that is configured for
 * the other commands is not theirs to try things on, unless somebody names it.
 */
export function trialUrl(
  flag: string | undefined,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Setting<string> {
  if (flag !== undefined) return { value: flag, source: '--url' };
  const fromVariable = environment[trialUrlVariable];
  if (fromVariable) return { value: fromVariable, source: trialUrlVariable };
  return { value: memoryUrl, source: defaultSource };
}
