import type { Document, LineCounter, Node, Scalar } from 'yaml';
import { nearest } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import { Mistakes } from './mistakes.js';

/** The package, loaded by whoever reads a file. */
export type Yaml = typeof import('yaml');

interface Source {
  readonly yaml: Yaml;
  readonly document: Document;
  readonly lines: LineCounter;
  /** As it was named. */
  readonly file: string;
}

/** What the parser complains of. */
type Problem = Pick<Document['errors'][number] | Document['warnings'][number], 'code' | 'message'>;

/** A text of a YAML file as a tree that knows where each part of it stands. @throws {OptionError} */
export function parseYaml(yaml: Yaml, text: string, file: string): YamlNode {
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const mistakes = new Mistakes();
  const toldLines = new Set<number>();
  for (const problem of [...document.errors, ...document.warnings]) {
    const { line } = lines.linePos(problem.pos[0]);
    if (!toldLines.has(line)) mistakes.add(notYaml(`${file}:${line}`, problem));
    toldLines.add(line);
  }
  mistakes.throwIfAny();
  return new YamlNode({ yaml, document, lines, file }, document.contents, [], 0);
}

function notYaml(where: string, { code, message }: Problem): OptionError {
  // What the parser quotes may be a secret.
  const words = message.replace(/[:"'`].*$/s, '').trim();
  return new OptionError(where, 'hidden', `is not YAML (${words})`, remedyFor(code, words));
}

function remedyFor(code: string, words: string): string {
  if (/alias/i.test(words)) return `put a text that begins with * in quotes: cron: '*/5 * * * *'`;
  switch (code) {
    case 'BAD_SCALAR_START':
      return `put a text that begins with @, % or a backtick in quotes: cron: '@daily'`;
    case 'BLOCK_AS_IMPLICIT_KEY':
      return `put a text with a colon before a space in quotes: command: 'echo a: b'; or correct where the line begins`;
    default:
      return 'correct this line, or the one before it';
  }
}

/** One value of the file. What it is asked for and is not, it says with file, line and key. */
export class YamlNode {
  readonly #source: Source;
  readonly #node: Node | null;
  readonly #path: readonly string[];
  /** Where its key begins: a value that is left out stands nowhere. */
  readonly #keyOffset: number;

  constructor(source: Source, node: Node | null, path: readonly string[], keyOffset: number) {
    const { yaml, document } = source;
    this.#source = source;
    this.#node = yaml.isAlias(node) ? (node.resolve(document) ?? null) : node;
    this.#path = path;
    this.#keyOffset = keyOffset;
  }

  /** For messages: `jobs.yaml:7: jobs.settle.cron`. */
  get where(): string {
    const { file, lines } = this.#source;
    const offset = this.#path.length > 0 ? this.#keyOffset : (this.#node?.range?.[0] ?? 0);
    const { line } = lines.linePos(offset);
    const path = this.#path.length === 0 ? '' : `: ${this.#path.join('.')}`;
    return `${file}:${line}${path}`;
  }

  /** @param value what stands there, or `hidden`. */
  complain(problem: string, remedy: string, value: unknown = 'hidden'): OptionError {
    return new OptionError(this.where, value, problem, remedy);
  }

  /** The parts of a mapping, by their keys as they are written: `1.10` is no `1.1`. @throws {OptionError} */
  entries(remedy: string): Map<string, YamlNode> {
    const { yaml } = this.#source;
    if (!yaml.isMap(this.#node)) throw this.complain('is not a mapping', remedy);
    const entries = new Map<string, YamlNode>();
    for (const { key, value } of this.#node.items) {
      const name = yaml.isScalar(key) ? asWritten(key) : '';
      const offset = yaml.isNode(key) ? (key.range?.[0] ?? 0) : 0;
      const node = yaml.isNode(value) ? value : null;
      const entry = new YamlNode(this.#source, node, [...this.#path, name], offset);
      // The parser knows keys by their values, and 1 and '1' for two.
      if (entries.has(name)) throw entry.complain('stands there twice', 'give one another name');
      entries.set(name, entry);
    }
    return entries;
  }

  /** As {@link entries}, and none but these. What else stands there is noted, and read as what it was meant to be, if anything. */
  fields<Key extends string>(
    keys: readonly Key[],
    mistakes: Mistakes,
  ): Partial<Record<Key, YamlNode>> {
    const [last, ...others] = [...keys].reverse();
    const remedy = `use ${others.length === 0 ? last : `${others.reverse().join(', ')} or ${last}`}`;
    const entries = this.entries(remedy);
    for (const [name, node] of entries)
      if (!(keys as readonly string[]).includes(name)) {
        const meant = nearest(name, keys);
        const better = meant === undefined ? remedy : `did you mean ${meant}?`;
        mistakes.add(node.complain('is no key here', better));
        entries.delete(name);
        if (meant !== undefined && !entries.has(meant)) entries.set(meant, node);
      }
    return Object.fromEntries(entries) as Partial<Record<Key, YamlNode>>;
  }

  get isList(): boolean {
    return this.#source.yaml.isSeq(this.#node);
  }

  /** The parts of a list. @throws {OptionError} */
  items(remedy: string): YamlNode[] {
    const { yaml } = this.#source;
    if (!yaml.isSeq(this.#node)) throw this.complain('is not a list', remedy);
    return this.#node.items.map((item, index) => {
      const node = yaml.isNode(item) ? item : null;
      const offset = node?.range?.[0] ?? this.#keyOffset;
      return new YamlNode(this.#source, node, [...this.#path, String(index + 1)], offset);
    });
  }

  /** @throws {OptionError} */
  text(remedy: string): string {
    const value = this.#scalar;
    if (typeof value === 'string') return this.#whole(value);
    throw this.complain('is not a text', remedy);
  }

  /** A text, or a number or truth value as it is written: `5` and `true` are words of a command. @throws {OptionError} */
  word(remedy: string): string {
    const { yaml } = this.#source;
    const value = this.#scalar;
    if (typeof value === 'string') return this.#whole(value);
    const isPlain = typeof value === 'number' || typeof value === 'boolean';
    if (isPlain && yaml.isScalar(this.#node)) return asWritten(this.#node);
    throw this.complain('is not a text', remedy);
  }

  /** @throws {OptionError} */
  number(remedy: string): number {
    const value = this.#scalar;
    if (typeof value === 'number') return value;
    throw this.complain('is not a number', remedy);
  }

  /** @throws {OptionError} */
  flag(): boolean {
    const value = this.#scalar;
    if (typeof value === 'boolean') return value;
    throw this.complain('is neither true nor false', 'use one of them');
  }

  /** What an escape can write, and no system takes. */
  #whole(text: string): string {
    if (text.includes('\0')) throw this.complain('holds a zero byte', 'leave it out');
    if (!/\p{Cs}/u.test(text)) return text;
    throw this.complain('holds half a character', 'write the whole character');
  }

  get #scalar(): unknown {
    const { yaml } = this.#source;
    return yaml.isScalar(this.#node) ? this.#node.value : undefined;
  }
}

/** What is no text, as the file has it. */
function asWritten({ value, source }: Scalar): string {
  return typeof value === 'string' ? value : (source ?? String(value));
}
