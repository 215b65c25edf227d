import { Command, type ErrorOptions, type HelpContext, type ParseOptionsResult } from 'commander';

/** What the parser does itself where it is not asked in the order in which a person would. */
interface Complaints {
  unknownOption(flag: string): void;
  unknownCommand(): void;
}

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
      this.#complaints.unknownOption(unknown);
    return parsed;
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
