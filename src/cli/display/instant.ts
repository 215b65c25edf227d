/** A Unix time for people: UTC to the second, `2026-11-29T21:14:03Z`. */
export function sayInstant(atMs: number): string {
  const instant = new Date(atMs);
  // A store may hold any number.
  if (Number.isNaN(instant.getTime())) return `${atMs} ms`;
  return `${instant.toISOString().slice(0, -5)}Z`;
}
