/** What was thrown, as text: it need not be an error, nor have one. */
export function wordsOf(error: unknown): { readonly name?: string; readonly message: string } {
  try {
    return error instanceof Error
      ? { name: `${error.name}`, message: `${error.message}` }
      : { message: String(error) };
  } catch {
    return { message: 'it threw something that has no text' };
  }
}
