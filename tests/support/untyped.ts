/** What no compiler has checked. */
export const untyped = (value: unknown): never => value as never;

/** What a call throws or rejects with; `undefined` if it does neither. */
export async function failure(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}
