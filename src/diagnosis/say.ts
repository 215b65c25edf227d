/** `42 %`. */
export function sayShare(share: number): string {
  return `${Math.round(share * 100)} %`;
}
