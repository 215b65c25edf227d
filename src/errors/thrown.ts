/**
 * What work of a user threw, as it is; or an error in its place, if even to ask what it is throws, as of a proxy that has been
 * revoked. Whoever catches it can ask then.
 */
export function askable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error('it threw a proxy that has been revoked');
  }
}
