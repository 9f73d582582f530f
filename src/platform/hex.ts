/** Lower-case `0x` hex: the form of chain values in memory. The database stores bytes; the wire uses EIP-55 for addresses. */
export type Hex = `0x${string}`;

export const ZERO_ADDRESS: Hex = `0x${'0'.repeat(40)}`;

const HEX = /^0x(?:[0-9a-f]{2})*$/;

export function isHex(text: unknown, bytes?: number): text is Hex {
  return typeof text === 'string' && (bytes === undefined || text.length === 2 + 2 * bytes) && HEX.test(text);
}

export function toHex(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}

export function toBytes(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}
