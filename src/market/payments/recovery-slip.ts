import { z } from 'zod';
import { PAYMENT_PURPOSES } from '../../contract/vocabulary.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import { openSealed, sealText } from '../../platform/secrets.ts';
import type { Market } from '../context.ts';
import type { Intent } from './paths/direct/store.ts';
import { pathOf } from './paths/payment-paths.ts';
import type { Payment } from './payment.ts';

/** Domain separator for the key. No secret of a merchant has this form. */
const KEY_PURPOSE = 'key of the recovery slips';
const PREFIX = 'rs1_';

type Sealing = Pick<Market, 'pepper'>;

const hexOf = (bytes: number) => z.custom<Hex>((value) => typeof value === 'string' && isHex(value, bytes));
/** A whole number as text, for ids, units of USDC, seconds and blocks. */
const wholeNumber = z.string().regex(/^\d+$/).transform(BigInt);
const at = z.number().transform((ms) => new Date(ms));
const terms = {
  purpose: z.enum(PAYMENT_PURPOSES),
  listingId: wholeNumber.nullable(),
  chainId: wholeNumber,
  asset: hexOf(20),
  payee: hexOf(20),
};
const paymentSlip = z.object({
  kind: z.literal('payment'),
  ...terms,
  id: wholeNumber,
  merchantId: wholeNumber.nullable(),
  bodyHash: hexOf(32).nullable(),
  payer: hexOf(20),
  valueUnits: wholeNumber,
  nonce: hexOf(32),
  validAfter: wholeNumber,
  validBefore: wholeNumber,
  openedBlock: wholeNumber,
  tokenHash: hexOf(32).nullable(),
  signersReadAt: at.nullable(),
  createdAt: at,
});
const intentSlip = z.object({
  kind: z.literal('intent'),
  ...terms,
  merchantId: wholeNumber,
  id: z.string().regex(/^[0-9a-f]{32}$/),
  payer: hexOf(20).nullable(),
  minimumUnits: wholeNumber,
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  challenge: z.string(),
  createdAt: at,
  expiresAt: at,
});
const anySlip = z.discriminatedUnion('kind', [paymentSlip, intentSlip]);

export type PaymentSlip = z.output<typeof paymentSlip>;
export type IntentSlip = z.output<typeof intentSlip>;

function sealSlip({ pepper }: Sealing, content: Record<string, unknown>): string {
  const text = JSON.stringify(content, (_name, value) => (typeof value === 'bigint' ? value.toString() : value));
  return PREFIX + sealText(pepper.hash(KEY_PURPOSE), text);
}

const toHex32 = (bytes: Buffer | null): string | null => bytes && `0x${bytes.toString('hex')}`;

/** Returns null for a direct payment, because its intent has the slip. */
export function slipOf(market: Sealing, payment: Payment): string | null {
  const opened = pathOf(payment).present.slipTerms(payment);
  if (opened === null) return null;
  const { id, purpose, listingId, chainId, asset, payee, merchantId, payer, valueUnits } = payment;
  return sealSlip(market, {
    ...{ kind: 'payment', id, purpose, listingId, chainId, asset, payee, merchantId, payer, valueUnits, ...opened },
    bodyHash: toHex32(payment.bodyHash),
    tokenHash: toHex32(payment.deliveryTokenHash),
    createdAt: payment.createdAt.getTime(),
  });
}

/** Returns the same slip for the same intent every time. */
export function slipOfIntent(market: Sealing, intent: Intent): string {
  const { id, purpose, listingId, merchantId, chainId, asset, payee, payer, minimumUnits, nonce, challenge } = intent;
  return sealSlip(market, {
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
    createdAt: intent.createdAt.getTime(),
    expiresAt: intent.expiresAt.getTime(),
  });
}

/** Returns null if this market did not make the slip. */
export function readSlip({ pepper }: Pick<Market, 'pepper'>, text: string): PaymentSlip | IntentSlip | null {
  if (!text.startsWith(PREFIX)) return null;
  const keys = pepper.hashes(KEY_PURPOSE).map(({ hash }) => hash);
  const opened = openSealed(keys, text.slice(PREFIX.length));
  if (opened === null) return null;
  return anySlip.safeParse(JSON.parse(opened)).data ?? null;
}
