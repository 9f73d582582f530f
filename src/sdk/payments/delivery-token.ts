import { base62 } from '../../contract/base62.ts';
import type { Environment } from '../environment.ts';
import { MarketError } from '../market-error.ts';

const BODY_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const PREFIX = /^[a-z][a-z0-9]{1,15}_dt_$/;

/**
 * A token of our own for the payment that is about to be opened, where the market takes one: its 402 to a request without a key names how
 * such a token begins. So what collects the goods is known and kept before anything is sent.
 */
export function makeDeliveryToken(asked: unknown, { randomBytes }: Pick<Environment, 'randomBytes'>): string | null {
  const prefix = asked instanceof MarketError ? asked.problem['delivery_token_prefix'] : undefined;
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) return null;
  const chance = randomBytes(32).reduce((value, byte) => value * 256n + BigInt(byte), 0n);
  const text = prefix + base62(chance, BODY_LENGTH);
  return text + base62(crc32(text), CHECKSUM_LENGTH);
}

/** Of ASCII. Browsers have none of their own. */
function crc32(text: string): bigint {
  let rest = 0xffffffff;
  for (const character of text) {
    rest ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit += 1) rest = (rest & 1) === 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return BigInt((rest ^ 0xffffffff) >>> 0);
}
