import type { TestAccount } from '../../../src/local/chain/accounts.ts';
import type { CrashPoint } from '../../../src/market/context.ts';
import { type Hex, toHex } from '../../../src/platform/hex.ts';
import { usdcAdmin } from '../../support/chain.ts';
import { signChallenge } from '../../support/direct.ts';
import { PLENTY } from '../model-chain.ts';
import type { Reference } from '../reference.ts';
import type { Run, SentIntent } from '../run.ts';
import { Act, buyerOf, listingOf, never, recent, sign, walletOf } from './act.ts';

export interface Opening {
  who: number;
  listing: number;
  named: number | null;
  fee: boolean;
}

export class OpenIntent extends Act<Opening> {
  async run(_reference: Reference, run: Run): Promise<void> {
    await openIntent(run, this.given);
  }
}

export async function openIntent(run: Run, { who, listing: nth, named, fee }: Opening): Promise<SentIntent | null> {
  const { reference } = run;
  const member = fee ? run.seller : (buyerOf(run, who) ?? run.seller);
  const listing = listingOf(run, nth);
  const { treasury, seller, feeUnits } = run.payees;
  const payer = named === null ? null : walletOf(run, named).address;
  const terms = fee
    ? { subject: 'fee', payee: treasury.address, units: feeUnits }
    : { subject: listing.name, payee: seller.address, units: listing.units };
  let wanted: SentIntent['terms'] | null = null;
  const answer = await run.step({
    method: 'POST',
    path: fee ? '/api/fee-intent' : `/api/purchase-intent/${run.goodsOf(listing).id}`,
    asked: { key: member.key, body: payer === null ? {} : { payer_wallet: payer } },
    expect: () => {
      const opened = reference.openIntent({ who: member.handle, isFee: fee, payer, ...terms }, fee ? null : listing);
      if (typeof opened === 'string') return opened;
      wanted = opened;
      // The market assigns the id of a new intent.
      return run.intents.find((sent) => sent.terms === opened)?.id ?? '*';
    },
    ...(fee ? {} : { asker: { subject: listing.name, who: member.handle, payer } }),
  });
  if (wanted === null || answer === null) return null;
  const known = run.intents.find((sent) => sent.terms === wanted);
  if (known !== undefined) return known;
  const shown = (answer.body['purchase_intent'] ?? answer.body['fee_intent']) as { id: string; challenge: string };
  const sent = { terms: wanted, id: shown.id, challenge: shown.challenge };
  run.intents.push(sent);
  return sent;
}

export interface Sending {
  intent: number;
  wallet: number;
  amount: 'exact' | 'tip' | 'little' | 'more than there is';
  to: 'payee' | 'stranger';
  /** True for a signed authorization, false for a plain transfer. */
  authorized: boolean;
}

export class Transfer extends Act<Sending> {
  async run(_reference: Reference, run: Run): Promise<void> {
    const intent = recent(run.intents, this.given.intent);
    if (intent !== undefined) await transfer(run, intent, this.given);
  }
}

export async function transfer(
  run: Run,
  intent: SentIntent,
  { wallet, amount, to, authorized }: Omit<Sending, 'intent'>,
): Promise<string> {
  const from = walletOf(run, wallet);
  const { units: price } = intent.terms;
  const units = { exact: price, tip: price + 500_000n, little: price - 1n, 'more than there is': 2n * PLENTY }[amount];
  const payee = (to === 'payee' ? intent.terms.payee : toHex(Buffer.alloc(20, 9))) as Hex;
  const admin = usdcAdmin(run.stage.chain);
  const receipt = authorized
    ? await (async () => {
        const { signed } = await sign(run, from, { payee, units, listing: null, ahead: 600 });
        // This proof was never meant for the market.
        run.proofs.pop();
        return await admin.settleAuthorization(from, signed.authorization, signed.signature);
      })()
    : await admin.transfer(from, payee, units);
  run.sent.push(receipt.transactionHash);
  await run.sync();
  return receipt.transactionHash;
}

export interface Claiming {
  /** Merchant who claims. Null: the merchant who opened the intent. */
  who: number | null;
  listing: number | null;
  intent: number;
  transaction: number;
  /** Signer of the claim. Null: the sender signs. */
  signer: number | null;
  twice: boolean;
  crashAt: CrashPoint | null;
}

export class Claim extends Act<Claiming> {
  async run(_reference: Reference, run: Run): Promise<void> {
    const intent = recent(run.intents, this.given.intent);
    const hash = recent(run.transactions, this.given.transaction);
    if (intent !== undefined && hash !== undefined && !intent.terms.isFee) await claim(run, intent, hash, this.given);
  }
}

export const MAX_NAMED = 5;

export async function claim(
  run: Run,
  intent: SentIntent,
  hash: string,
  given: Omit<Claiming, 'intent' | 'transaction'>,
): Promise<void> {
  const { reference } = run;
  const standing = reference.claimPaymentOf(intent.terms);
  if ((standing?.named.length ?? 0) >= MAX_NAMED) return;
  const opener = run.buyers.find(({ handle }) => handle === intent.terms.who) ?? never();
  const buyer = given.who === null ? opener : (buyerOf(run, given.who) ?? opener);
  const listing = run.listings.find(({ name }) => name === intent.terms.subject) ?? never();
  const at = given.listing === null ? listing : listingOf(run, given.listing);
  const signer = signerOf(run, hash, given.signer);
  const { payer } = intent.terms;
  await run.step({
    method: 'POST',
    path: `/api/claim/${run.goodsOf(at).id}`,
    asked: {
      key: buyer.key,
      body: claimBody(intent, hash, await signChallenge(signer, intent)),
    },
    expect: () =>
      reference.claim({ who: buyer.handle, subject: at.name, intent: intent.terms, hash, signer: signer.address }),
    crashAt: given.crashAt ?? undefined,
    twice: given.twice && given.crashAt === null,
    asker: { subject: at.name, who: buyer.handle, payer },
  });
}

export function signerOf(run: Run, hash: string, nth: number | null): TestAccount {
  const from = run.reference.find(hash)?.from;
  return nth === null ? (run.wallets.find(({ address }) => address === from) ?? walletOf(run, 0)) : walletOf(run, nth);
}

export const claimBody = ({ id }: SentIntent, hash: string, signature: Hex) => ({
  intent_id: id,
  tx_hash: hash,
  payer_signature: signature,
});
