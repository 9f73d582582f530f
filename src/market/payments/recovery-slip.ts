import { z } from 'zod';
import { PAYMENT_PURPOSES } from '../../contract/vocabulary.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import { openSealed, sealText } from '../../platform/secrets.ts';
import type { Market } from '../context.ts';
import type { Intent } from './paths/direct/store.ts';
import { pathOf } from './paths/payment-paths.ts';
import type { Payment } from './payment.ts';

/** Domain separator for the key. No secret of a merchant has this form. */
const USE = 'key of the recovery slips';
const PREFIX = 'rs1_';

type Sealing = Pick<Market, 'pepper'>;

const hex = (bytes: number) => z.custom<Hex>((value) => typeof value === 'string' && isHex(value, bytes));
/** A whole number as text: ids, units of USDC, seconds, blocks. */
const whole = z.string().regex(/^\d+$/).transform(BigInt);
const at = z.number().transform((ms) => new Date(ms));
const terms = {
  purpose: z.enum(PAYMENT_PURPOSES),
  listingId: whole.nullable(),
  chainId: whole,
  asset: hex(20),
  payee: hex(20),
};
const payment = z.object({
  kind: z.literal('payment'),
  ...terms,
  id: whole,
  merchantId: whole.nullable(),
  bodyHash: hex(32).nullable(),
  payer: hex(20),
  valueUnits: whole,
  nonce: hex(32),
  validAfter: whole,
  validBefore: whole,
  openedBlock: whole,
  tokenHash: hex(32).nullable(),
  signersReadAt: at.nullable(),
  createdAt: at,
});
const intent = z.object({
  kind: z.literal('intent'),
  ...terms,
  merchantId: whole,
  id: z.string().regex(/^[0-9a-f]{32}$/),
  payer: hex(20).nullable(),
  minimumUnits: whole,
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  challenge: z.string(),
  createdAt: at,
  expiresAt: at,
});
const slip = z.discriminatedUnion('kind', [payment, intent]);

export type PaymentSlip = z.output<typeof payment>;
export type IntentSlip = z.output<typeof intent>;

function seal({ pepper }: Sealing, content: Record<string, unknown>): string {
  const text = JSON.stringify(content, (_name, value) => (typeof value === 'bigint' ? value.toString() : value));
  return PREFIX + sealText(pepper.hash(USE), text);
}

const toHex32 = (bytes: Buffer | null): string | null => bytes && `0x${bytes.toString('hex')}`;

/** Null for a direct payment: its intent has a slip. */
export function slipOf(market: Sealing, given: Payment): string | null {
  const opened = pathOf(given).present.slipTerms(given);
  if (opened === null) return null;
  const { id, purpose, listingId, chainId, asset, payee, merchantId, payer, valueUnits } = given;
  return seal(market, {
    ...{ kind: 'payment', id, purpose, listingId, chainId, asset, payee, merchantId, payer, valueUnits, ...opened },
    bodyHash: toHex32(given.bodyHash),
    tokenHash: toHex32(given.deliveryTokenHash),
    createdAt: given.createdAt.getTime(),
  });
}

/** Returns the same slip for the same intent, however it was read. */
export function slipOfIntent(market: Sealing, given: Intent): string {
  const { id, purpose, listingId, merchantId, chainId, asset, payee, payer, minimumUnits, nonce, challenge } = given;
  return seal(market, {
    ...{
      kind: 'intent',
      id,
      purpose,
      listingId,
      merchantId,
      chainId,
      asset,
      payee,
      payer,
      minimumUnits,
      nonce,
      challenge,
    },
    createdAt: given.createdAt.getTime(),
    expiresAt: given.expiresAt.getTime(),
  });
}

/** Null if this market did not make the slip. */
export function readSlip({ pepper }: Pick<Market, 'pepper'>, text: string): PaymentSlip | IntentSlip | null {
  if (!text.startsWith(PREFIX)) return null;
  const keys = pepper.hashes(USE).map(({ hash }) => hash);
  const opened = openSealed(keys, text.slice(PREFIX.length));
  if (opened === null) return null;
  return slip.safeParse(JSON.parse(opened)).data ?? null;
}
