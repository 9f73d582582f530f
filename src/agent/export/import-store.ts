import { formatUsdc } from '../../contract/money.ts';
import { own } from '../../contract/own-words.ts';
import type { Client } from '../../sdk/client.ts';
import { MarketError } from '../../sdk/errors.ts';
import type { AuthorizationToSign, Wallet } from '../../sdk/payments/payment-proof.ts';
import { AgentError, PolicyRefused } from '../agent-error.ts';
import { type SellGoodsOptions, sellGoods } from '../sell-goods.ts';
import type { ImportPlan, Planned } from './plan-import.ts';
import type { StoredListing } from './read-store.ts';

/** Refusals that concern one listing only and come before signing, so that the import continues. */
const LISTING_REFUSALS: ReadonlySet<string> = new Set([
  'duplicate_listing',
  'already_superseded',
  'seller_wallet_refused',
  'wallet_in_use',
  'invalid_fields',
  'body_too_large',
  'secret_in_payload',
]);

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

export interface ImportStoreOptions
  extends Omit<SellGoodsOptions, 'listing' | 'file' | 'key' | 'listAgain' | 'recoverySlip'> {
  plan: ImportPlan;
  onDone?(done: Imported, count: { done: number; of: number }): void;
}

/**
 * Lists the planned listings one by one, oldest first, so that newer versions can name their predecessors by this market's IDs. Each goes
 * through `sellGoods`, under policy and book; if stopped, a new plan and the same call resume signed payments. The refusal of one listing
 * is reported and the rest continues. Throws what `sellGoods` throws for anything else.
 */
export async function importStore({ plan, onDone, ...rest }: ImportStoreOptions): Promise<Imported[]> {
  const options = { ...rest, wallet: limitWallet(rest.wallet, plan.mostUnits) };
  const newIds = new Map<number, number>();
  const imported: Imported[] = [];
  for (const one of plan.planned) {
    const done = await importOne(one, { plan, newIds, options });
    if ('listingId' in done) newIds.set(done.id, done.listingId);
    imported.push(done);
    onDone?.(done, { done: imported.length, of: plan.planned.length });
  }
  return imported;
}

/** Limits the wallet to the agreed total of fees, because the market may ask for more than when the plan was made. */
function limitWallet(wallet: Wallet, mostUnits: bigint): Wallet {
  let left = mostUnits;
  return Object.freeze({
    address: wallet.address,
    signTypedData: async (typed: AuthorizationToSign) => {
      if (typed.message.value > left) {
        const title = own`The market asks for more than the agreed ${formatUsdc(mostUnits)} in fees. Nothing was signed for this listing`;
        throw new PolicyRefused(
          'above_agreed_fees',
          title,
          own`Check the new fees with --dry-run, then agree to them.`,
        );
      }
      left -= typed.message.value;
      return await wallet.signTypedData(typed);
    },
  });
}

interface Work {
  plan: ImportPlan;
  /** Maps exported IDs to IDs at this market. */
  newIds: Map<number, number>;
  options: Omit<SellGoodsOptions, 'listing' | 'file' | 'key' | 'listAgain' | 'recoverySlip'>;
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
    if (!(error instanceof MarketError) || !LISTING_REFUSALS.has(error.reason) || error.doNotPayAgain === true)
      throw error;
    return { id, title, outcome: 'refused', reason: error.reason, why: error.problem.detail ?? error.problem.title };
  }
}

async function listStored(stored: StoredListing, { plan, newIds, options }: Work) {
  const { listing, body, file } = stored;
  if (body === null) throw new TypeError('a city thing cannot be listed from here');
  const older = listing.supersedes === null ? undefined : newIds.get(listing.supersedes);
  const request = {
    ...options,
    file,
    listing: older === undefined ? body : { ...body, supersedes: older },
    listAgain: true,
  };
  const slip = slipFor(stored, plan, options);
  if (slip === null) return await sellGoods(request);
  try {
    return await sellGoods({ ...request, recoverySlip: slip });
  } catch (error) {
    if (!(error instanceof MarketError) || !asksForPayment(error)) throw error;
    // The slip belongs to a listing with a different text. It restores the fee as a credit once the market finds the fee's transfer.
    if (error.reason === 'payment_required') await waitForFee(stored, options);
    return await sellGoods(request);
  }
}

/** A slip helps only if the market lost data after the fee was paid. With `payAnew` the owner says that the fee is lost for good. */
function slipFor(
  { recoverySlip, listing }: StoredListing,
  { recoveredAt, feeUnits }: ImportPlan,
  options: Work['options'],
) {
  if (recoveredAt === null || feeUnits === 0n || options.payAnew === true) return null;
  return Date.parse(listing.created_at) < Date.parse(recoveredAt) ? recoverySlip : null;
}

function asksForPayment({ reason, problem }: MarketError): boolean {
  const isNoSlip =
    reason === 'invalid_fields' && problem.errors?.some(({ path }) => path === 'X-Recovery-Slip') === true;
  return reason === 'payment_required' || isNoSlip;
}

const MAX_ATTEMPTS = 60;
const PAUSE_MS = 2_000;

/** Waits until the market has restored the old fee; paying another one would be a waste. */
async function waitForFee(
  { listing, fee }: StoredListing,
  { client, signal, onProgress }: Work['options'],
): Promise<void> {
  const { environment } = client;
  const startedMs = environment.now();
  for (let attempt = 0; attempt < MAX_ATTEMPTS && fee.tx_hash !== null; attempt += 1) {
    if (await isInBooks(client, fee.tx_hash)) return;
    onProgress?.({ phase: 'pending', secondsWaited: Math.floor((environment.now() - startedMs) / 1_000) });
    await environment.sleep(PAUSE_MS, signal);
  }
  throw new AgentError('unknown', {
    reason: 'fee_not_back',
    title: own`The market hasn’t yet restored the earlier fee of listing ${listing.id}. Nothing was paid`,
    nextStep: own`Run the same command later. If the fee is lost for good, add --pay-anew to pay another.`,
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
