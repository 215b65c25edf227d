export interface Mount {
  /** Where it is. */
  readonly folder: string;
  readonly kind: string;
  readonly isReadOnly: boolean;
}

/**
 * The mount that a path is on, in the text of `/proc/mounts`: of several at one place the last, which hides the others.
 *
 * @param path absolute, and without links.
 */
export function mountOf(mounts: string, path: string): Mount | undefined {
  let found: Mount | undefined;
  for (const line of mounts.split('\n')) {
    const [, written = '', kind = '', options = ''] = line.split(' ');
    if (kind === '') continue;
    const folder = unescaped(written);
    if (!isBelow(path, folder) || folder.length < (found?.folder.length ?? 0)) continue;
    found = { folder, kind, isReadOnly: options.split(',').includes('ro') };
  }
  return found;
}

/** A space stands as `\040`. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
