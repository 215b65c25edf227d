import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const isPage = (name: string) => name.endsWith('.md');
const pages = [
  ...readdirSync(root).filter(isPage),
  ...['docs', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(isPage)
      .map((name) => join(folder, name)),
  ),
];

/** The anchors of a page, as those who show it make them of its headings. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const shown = text.replace(/^```[\s\S]*?^```/gm, '');
  for (const [, heading = ''] of shown.matchAll(/^#+ (.+)$/gm)) {
    const words = heading.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}_\s-]/gu, '').replace(/\s/g, '-');
    for (let again = 0; ; again += 1) {
      const numbered = again === 0 ? anchor : `${anchor}-${again}`;
      if (anchors.has(numbered)) continue;
      anchors.add(numbered);
      break;
    }
  }
  return anchors;
}

describe('the pages', () => {
  it('link to files and headings that there are', () => {
    const broken: string[] = [];
    for (const page of pages) {
      const text = readFileSync(join(root, page), 'utf8');
      for (const [, file = '', anchor] of text.matchAll(/\]\(([^)#:\s]*)(?:#([^)]+))?\)/g)) {
        const target = file === '' ? join(root, page) : join(root, dirname(page), file);
        const link = `${page} -> ${relative(root, target)}${anchor === undefined ? '' : `#${anchor}`}`;
        if (!existsSync(target)) broken.push(link);
        else if (anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).has(anchor))
          broken.push(link);
      }
    }
    expect(broken).toEqual([]);
  });
});
