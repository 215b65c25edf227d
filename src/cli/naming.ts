import { OptionError, redactSecrets } from '../errors/index.js';

/**
 * A store knows the URL as its option `url`, and what its parameters say by their names; the user wrote them elsewhere.
 *
 * @param places where each option of the store was written.
 */
export async function naming<Opened>(
  places: Readonly<Record<string, string>>,
  open: () => Opened | Promise<Opened>,
): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    const place = places[error.option];
    if (place === undefined) throw error;
    throw new OptionError(place, 'hidden', problemOf(error), error.remedy);
  }
}

/** What is wrong with the option, without its name, its value and the remedy. */
export function problemOf({ option, message, remedy }: OptionError): string {
  // In the message a remedy stands as everything else does, and may be shorter there.
  const said = message.slice(`${option} `.length, -`: ${redactSecrets(remedy)}`.length);
  return said.replace(/ \(got .*\)$/s, '');
}

/** The options of stores that a URL speaks of: as a whole, or by a parameter. */
export function placesIn(source: string): Readonly<Record<string, string>> {
  const parameters = ['schema', 'ca', 'cert', 'key', 'serverName'];
  return Object.fromEntries([
    ['url', source],
    ...parameters.map((name) => [name, `${source}: ${name}`]),
  ]);
}
