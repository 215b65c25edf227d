/** The source of what was not set anywhere. */
export const defaultSource = 'default';

/** A value with where it came from, to name in messages: `--url`, `TENURE_URL`, `./tenure.json: url` or `default`. */
export interface Setting<Value> {
  readonly value: Value;
  readonly source: string;
}

/** One thing that can be set in four places; the first of them that says something counts. */
export interface SettingDefinition<Value> {
  readonly flag: string;
  /** What stands for the value in the help: `<duration>`. */
  readonly placeholder: string;
  readonly variable: string;
  /** For the help; one phrase, without the default. */
  readonly meaning: string;
  /** The default in words, where its text would only puzzle. */
  readonly defaultInWords?: string;
  /** The default as it would be written. */
  defaultText(surroundings: Surroundings): string;
  /** @throws {OptionError} naming `source`. */
  parse(text: string, source: string): Value;
  /** A text of the config file as it is meant there: relative paths begin at its folder. */
  fromFile?(text: string, folder: string): string;
  /** What was written, for people: no password in it. Default: as it stands. */
  show?(text: string): string;
}

/** What a command finds around it. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly workingFolder: string;
}
