import type { Argument, Command, Option } from 'commander';
import type { Flags } from '../settings/index.js';

/** What a shell may offer for the word at the cursor. */
export interface Suggestions {
  readonly words: readonly Suggestion[];
  /** The shell may offer its files. */
  readonly files: boolean;
}

export interface Suggestion {
  readonly word: string;
  readonly meaning: string;
}

/** What only the store knows. Never rejects: whoever completes a word wants no errors. */
export interface Lookup {
  names(beginning: string, flags: Flags): Promise<readonly string[]>;
  candidates(name: string, flags: Flags): Promise<readonly string[]>;
  jobs(flags: Flags): Promise<readonly string[]>;
  /** Of effects whose outcome is unknown. */
  keys(flags: Flags): Promise<readonly string[]>;
}

const none: Suggestions = { words: [], files: false };
const files: Suggestions = { words: [], files: true };

/** Placeholders of options and arguments by what stands for them, as the parser's own tree names it. */
const storeNames: readonly string[] = ['name', 'names'];
const jobArgument = 'job';
const keyArgument = 'key';
/** Ids of runs are long, and the open one is meant without any. */
const runArgument = 'run';
/** The option that names what a command is run for. */
const nameOption = 'election';
const filePlaceholders: readonly string[] = ['<file>', '<path>'];

/** @param words all words after the program's own, up to and including the one at the cursor, which may be empty. */
export async function suggest(
  program: Command,
  words: readonly string[],
  lookup: Lookup,
): Promise<Suggestions> {
  const current = words.at(-1) ?? '';
  const line = readLine(program, words.slice(0, -1));
  if (line.isForeign) return files;
  if (line.expecting !== undefined && !isLeftOut(line.expecting, current))
    return beginningWith(current, '', await valuesOf(line.expecting, line, current, lookup));
  const [flag, value] = splitAt(current, '=');
  if (value !== undefined) {
    const option = optionOf(line.command, flag);
    if (option === undefined) return none;
    return beginningWith(current, `${flag}=`, await valuesOf(option, line, value, lookup));
  }
  if (current.startsWith('-')) return beginningWith(current, '', optionsOf(line.command));
  if (line.command.commands.length > 0 && line.positional.length === 0)
    return beginningWith(current, '', commandsOf(line.command));
  return beginningWith(current, '', await argumentValues(line, current, lookup));
}

/** The words before the cursor, as the parser would take them. */
interface Line {
  readonly command: Command;
  readonly positional: readonly string[];
  /** The options so far, as {@link resolveSettings} wants them. */
  readonly flags: Flags;
  /** The option whose value comes next. */
  readonly expecting: Option | undefined;
  /** What follows `--` belongs to another program. */
  readonly isForeign: boolean;
}

function readLine(program: Command, words: readonly string[]): Line {
  let command = program;
  const positional: string[] = [];
  const flags: Record<string, string> = {};
  let expecting: Option | undefined;
  for (const word of words) {
    if (expecting !== undefined && isLeftOut(expecting, word)) expecting = undefined;
    if (expecting !== undefined) {
      flags[expecting.attributeName()] = word;
      expecting = undefined;
    } else if (word === '--') {
      return { command, positional, flags, expecting, isForeign: true };
    } else if (word.startsWith('-')) {
      const [flag, value] = splitAt(word, '=');
      const option = optionOf(command, flag);
      if (option === undefined || option.isBoolean()) continue;
      if (value === undefined) expecting = option;
      else flags[option.attributeName()] = value;
    } else {
      const next = positional.length === 0 ? subcommandOf(command, word) : undefined;
      if (next === undefined) positional.push(word);
      else command = next;
    }
  }
  return { command, positional, flags, expecting, isForeign: false };
}

/** Whether the value of an option that may go without one is missing, since this word follows. */
function isLeftOut({ optional }: Option, next: string): boolean {
  return optional && next.startsWith('-');
}

async function valuesOf(
  option: Option,
  line: Line,
  beginning: string,
  lookup: Lookup,
): Promise<Suggestions> {
  if (option.argChoices !== undefined) return choices(option.argChoices);
  if (option.attributeName() === 'to' && line.positional[0] !== undefined)
    return choices(await lookup.candidates(line.positional[0], line.flags));
  if (option.attributeName() === nameOption)
    return choices(await lookup.names(beginning, line.flags));
  const takesFile = filePlaceholders.some((placeholder) => option.flags.endsWith(placeholder));
  return takesFile ? files : none;
}

async function argumentValues(line: Line, beginning: string, lookup: Lookup): Promise<Suggestions> {
  const argument = argumentAt(line.command, line.positional.length);
  if (argument === undefined) return none;
  if (argument.argChoices !== undefined) return choices(argument.argChoices);
  if (storeNames.includes(argument.name()))
    return choices(await lookup.names(beginning, line.flags));
  if (argument.name() === jobArgument) return choices(await lookup.jobs(line.flags));
  if (argument.name() === keyArgument) return choices(await lookup.keys(line.flags));
  return argument.name() === runArgument ? none : files;
}

function argumentAt(command: Command, index: number): Argument | undefined {
  const last = command.registeredArguments.at(-1);
  return command.registeredArguments[index] ?? (last?.variadic ? last : undefined);
}

function optionOf(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => flag === long || flag === short);
}

function subcommandOf(command: Command, word: string): Command | undefined {
  return command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
}

function optionsOf(command: Command): Suggestions {
  const words = command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) =>
      long === undefined || long === null ? [] : { word: long, meaning: description },
    );
  return { words, files: false };
}

function commandsOf(command: Command): Suggestions {
  const help = command.createHelp();
  const words = help
    .visibleCommands(command)
    .map((sub) => ({ word: sub.name(), meaning: help.subcommandDescription(sub) }));
  return { words, files: false };
}

function choices(words: readonly string[]): Suggestions {
  return { words: words.map((word) => ({ word, meaning: '' })), files: false };
}

/** `lead` comes before each of them in the word at the cursor. */
function beginningWith(current: string, lead: string, all: Suggestions): Suggestions {
  const words = all.words
    .map(({ word, meaning }) => ({ word: lead + word, meaning }))
    .filter(({ word }) => word.startsWith(current));
  return { ...all, words };
}

function splitAt(word: string, separator: string): [before: string, after: string | undefined] {
  const index = word.startsWith('-') ? word.indexOf(separator) : -1;
  return index < 0 ? [word, undefined] : [word.slice(0, index), word.slice(index + 1)];
}
