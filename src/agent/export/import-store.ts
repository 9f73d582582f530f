import { sayUsdc } from '../../contract/money.ts';
import { own } from '../../contract/own-words.ts';
import type { Client } from '../../sdk/client.ts';
import { MarketError } from '../../sdk/errors.ts';
import type { AuthorizationToSign, Wallet } from '../../sdk/payments/payment-proof.ts';
import { AgentError, PolicyRefused } from '../agent-error.ts';
import { type SellGoodsOptions, sellGoods } from '../sell-goods.ts';
import type { ImportPlan, Planned } from './plan-import.ts';
import type { StoredListing } from './read-store.ts';

/** Refusals that speak of one listing alone, before anything was signed for it: the others go on. */
const OF_ONE_LISTING: ReadonlySet<string> = new Set([
  'duplicate_listing',
  'already_superseded',
  'seller_wallet_refused',
  'wallet_in_use',
  'invalid_fields',
  'body_too_large',
  'secret_in_payload',
]);

/** One listing of an export, when all is done. */
export type Imported =
  | {
      id: number;
      title: string;
      outcome: 'listed';
      listingId: number;
      url: string;
      paidUnits: bigint;
      txHash: string | null;
    }
  | { id: number; title: string; outcome: 'there'; listingId: number; state: string }
  | { id: number; title: string; outcome: 'left_out'; why: 'not_live' | 'thing' }
  | { id: number; title: string; outcome: 'refused'; reason: string; why: string };

export interface ImportStoreOptions extends Omit<SellGoodsOptions, 'listing' | 'listAgain' | 'recoverySlip'> {
  plan: ImportPlan;
  onDone?(done: Imported, count: { done: number; of: number }): void;
}

/**
 * Lists what the plan says, one after the other, the oldest first, so that newer versions name their older ones by the numbers of this
 * market. Each goes through `sellGoods`, under policy and book: stopped at any point, a new plan and the same call go on with what was
 * signed. A refusal of one listing is told, and the rest goes on. Throws what `sellGoods` throws for everything else.
 */
export async function importStore({ plan, onDone, ...given }: ImportStoreOptions): Promise<Imported[]> {
  const options = { ...given, wallet: boundWallet(given.wallet, plan.mostUnits) };
  const numbers = new Map<number, number>();
  const imported: Imported[] = [];
  for (const one of plan.planned) {
    const done = await importOne(one, { plan, numbers, options });
    if ('listingId' in done) numbers.set(done.id, done.listingId);
    imported.push(done);
    onDone?.(done, { done: imported.length, of: plan.planned.length });
  }
  return imported;
}

/** Signs for fees of that sum in all, which was agreed to: the market may ask for more than it said when the plan was made. */
function boundWallet(wallet: Wallet, mostUnits: bigint): Wallet {
  let left = mostUnits;
  return Object.freeze({
    address: wallet.address,
    signTypedData: async (typed: AuthorizationToSign) => {
      if (typed.message.value > left) {
        const title = own`The market asks for more than the ${sayUsdc(mostUnits)} in fees that were agreed to; nothing was signed for this one`;
        throw new PolicyRefused(
          'above_agreed_fees',
          title,
          own`Look at it with --dry-run, then agree to what it says now.`,
        );
      }
      left -= typed.message.value;
      return await wallet.signTypedData(typed);
    },
  });
}

interface Work {
  plan: ImportPlan;
  /** Of the export, and at this market. */
  numbers: Map<number, number>;
  options: Omit<SellGoodsOptions, 'listing' | 'listAgain' | 'recoverySlip'>;
}

async function importOne(one: Planned, work: Work): Promise<Imported> {
  const { id, title } = one.stored.listing;
  if (one.act === 'there') return { id, title, outcome: 'there', listingId: one.listingId, state: one.state };
  if (one.act === 'left_out') return { id, title, outcome: 'left_out', why: one.why };
  try {
    const sold = await listStored(one.stored, work);
    const { listing_id: listingId, url, paidUnits, tx_hash: txHash } = sold;
    return { id, title, outcome: 'listed', listingId, url, paidUnits, txHash };
  } catch (error) {
    if (!(error instanceof MarketError) || !OF_ONE_LISTING.has(error.reason) || error.doNotPayAgain === true)
      throw error;
    return { id, title, outcome: 'refused', reason: error.reason, why: error.problem.detail ?? error.problem.title };
  }
}

async function listStored(stored: StoredListing, { plan, numbers, options }: Work) {
  const { listing, body } = stored;
  if (body === null) throw new TypeError('a thing is not listed from here');
  const older = listing.supersedes === null ? undefined : numbers.get(listing.supersedes);
  const asked = { ...options, listing: older === undefined ? body : { ...body, supersedes: older }, listAgain: true };
  const slip = slipFor(stored, plan, options);
  if (slip === null) return await sellGoods(asked);
  try {
    return await sellGoods({ ...asked, recoverySlip: slip });
  } catch (error) {
    if (!(error instanceof MarketError) || !isAskedToPay(error)) throw error;
    // The slip is of other words about the same goods: what it brings back is a credit, once the chain has shown it to the market.
    if (error.reason === 'payment_required') await waitForFee(stored, options);
    return await sellGoods(asked);
  }
}

/** A slip helps where the market came back from a loss after the fee was paid. `payAnew` says that it does not. */
function slipFor(
  { recoverySlip, listing }: StoredListing,
  { recoveredAt, feeUnits }: ImportPlan,
  options: Work['options'],
) {
  if (recoveredAt === null || feeUnits === 0n || options.payAnew === true) return null;
  return Date.parse(listing.created_at) < Date.parse(recoveredAt) ? recoverySlip : null;
}

function isAskedToPay({ reason, problem }: MarketError): boolean {
  const isNoSlip =
    reason === 'invalid_fields' && problem.errors?.some(({ path }) => path === 'X-Recovery-Slip') === true;
  return reason === 'payment_required' || isNoSlip;
}

const LOOKS = 60;
const PAUSE_MS = 2_000;

/** Until the market has the old fee in its books again: another one would be paid for nothing. */
async function waitForFee(
  { listing, fee }: StoredListing,
  { client, signal, onProgress }: Work['options'],
): Promise<void> {
  const { environment } = client;
  const startedMs = environment.now();
  for (let look = 0; look < LOOKS && fee.tx_hash !== null; look += 1) {
    if (await isInBooks(client, fee.tx_hash)) return;
    onProgress?.({ phase: 'pending', secondsWaited: Math.floor((environment.now() - startedMs) / 1_000) });
    await environment.sleep(PAUSE_MS, signal);
  }
  throw new AgentError('unknown', {
    reason: 'fee_not_back',
    title: own`The market has not yet found the fee of listing ${listing.id} again, which its slip tells of; nothing was paid`,
    nextStep: own`Run the same command later. If the fee is lost for good: the same command --pay-anew pays another.`,
  });
}

async function isInBooks(client: Client, txHash: string): Promise<boolean> {
  try {
    const { payment } = (await client.getPayment({ query: { tx_hash: txHash } })).body;
    return payment.payment_status === 'completed';
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'payment_not_found') return false;
    throw error;
  }
}
