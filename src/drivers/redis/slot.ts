const slotCount = 16_384;

/** CRC-16 with the polynomial 0x1021, from 0: that of the XMODEM protocol, which Redis Cluster uses. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return crc & 0xffff;
}

/** The slot of a key in a Redis Cluster: that of its first `{tag}`, unless the tag is empty, or else of all of it. */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  return crc16(new TextEncoder().encode(hashed)) % slotCount;
}
