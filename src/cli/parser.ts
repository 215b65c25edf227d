import { Command, type ErrorOptions, type HelpContext, type ParseOptionsResult } from 'commander';
import { nearest } from '../errors/checks.js';

/** What the parser does itself where it is not asked in the order in which a person would. */
interface Complaints {
  unknownCommand(): void;
}

/** Of a name so short, another one that begins otherwise is no misspelling. */
const shortestMisspelt = '--abcde'.length;

/**
 * The parser of the command line. It complains first of what was mistyped, since what is missing is missing because of it,
 * and says with every complaint whose it is and where that is explained.
 */
export class Parser extends Command {
  override createCommand(name?: string): Parser {
    return new Parser(name);
  }

  override parseOptions(args: string[]): ParseOptionsResult {
    const parsed = super.parseOptions(args);
    const [unknown] = parsed.unknown;
    const asksForHelp = parsed.unknown.some((word) => word === '--help' || word === '-h');
    // The options of a command of commands may be those of one of them.
    if (this.commands.length === 0 && unknown !== undefined && !asksForHelp)
      this.unknownOption(unknown);
    return parsed;
  }

  /** Called by the parser as well. What it guesses is an option of this command, and near. */
  unknownOption(flag: string): never {
    const own = this.createHelp()
      .visibleOptions(this)
      .flatMap(({ long }) => long ?? [])
      .filter((one) => one.length >= shortestMisspelt || one[2] === flag[2]);
    const meant = flag.startsWith('--') ? nearest(flag, own) : undefined;
    const guess = meant === undefined ? '' : `\n(Did you mean ${meant}?)`;
    this.error(`error: unknown option '${flag}'${guess}`, { code: 'commander.unknownOption' });
  }

  /** `tenure help nonsense` comes here too, as if help of everything was wanted. */
  override help(context?: HelpContext | ((text: string) => string)): never {
    const [verb, name] = this.args;
    if (typeof context === 'object' && context.error && verb === 'help' && name !== undefined) {
      this.args = [name];
      this.#complaints.unknownCommand();
    }
    return super.help(context as HelpContext);
  }

  override error(message: string, options?: ErrorOptions): never {
    const command = wordsOf(this);
    this.showHelpAfterError(`  next:    ${command} --help`);
    return super.error(message.replace(/^error:/, `${command}:`), options);
  }

  get #complaints(): Complaints {
    return this as unknown as Complaints;
  }
}

/** `tenure jobs list`, of the innermost one. */
function wordsOf(command: Command): string {
  return command.parent === null ? 'tenure' : `${wordsOf(command.parent)} ${command.name()}`;
}
