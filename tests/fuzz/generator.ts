/** Whole numbers below a limit, the same for one seed (a linear congruence; its high bits are used). */
export function generator(seed: number): (limit: number) => number {
  let state = BigInt(seed) * 2n + 1n;
  return (limit) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(limit));
  };
}
