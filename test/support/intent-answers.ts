import type { Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { onTestFinished } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { usdcText } from '../../src/contract/money.ts';
import { NETWORKS } from '../../src/contract/vocabulary.ts';
import { createClient } from '../../src/sdk/client.ts';
import { type BuyByTransferOptions, buyByTransfer } from '../../src/sdk/payments/direct/buy-by-transfer.ts';
import type { TransferWallet } from '../../src/sdk/payments/direct/transfer-options.ts';
import { createMemoryTransferStore } from '../../src/sdk/payments/direct/transfer-store.ts';
import {
  DOMAIN,
  deliveryAnswer,
  listingAnswer,
  officialAnswer,
  paymentRecord,
  pendingAnswer,
  SELLER,
} from './market-answers.ts';
import { createTestTime, type Reply, startScriptedMarket } from './scripted-market.ts';

/** Fields of the intent that a scripted market shows. A test may falsify them. */
export interface IntentFields {
  id: string;
  listing_id: number | null;
  payer_wallet: string | null;
  seller_wallet: string;
  chain_id: number;
  network: string;
  asset: string;
  minimum_amount_units: string;
  minimum_amount_usdc: string;
  created_at: string;
  expires_at: string;
  buyer: string;
  challenge: string;
  prove_first?: true;
}

export const INTENT_ID = 'ab'.repeat(16);
const NONCE_TEXT = 'cd'.repeat(16);

/** Builds the challenge from the intent's fields, in the documented order of lines. */
export function challengeOf(intent: Omit<IntentFields, 'challenge'>, baseUrl = `https://${DOMAIN}`): string {
  return [
    'service: Openaisle',
    `base_url: ${baseUrl}`,
    `chain_id: ${intent.chain_id}`,
    `intent_id: ${intent.id}`,
    `purpose: ${intent.listing_id === null ? 'listing_fee' : 'purchase'}`,
    `listing_id: ${intent.listing_id ?? 'none'}`,
    `buyer: ${intent.buyer}`,
    `payer: ${intent.payer_wallet}`,
    `payee: ${intent.seller_wallet}`,
    `asset: ${intent.asset}`,
    `minimum_amount_units: ${intent.minimum_amount_units}`,
    `nonce: ${NONCE_TEXT}`,
    `created_at: ${intent.created_at}`,
    `expires_at: ${intent.expires_at}`,
  ].join('\n');
}

/** Builds an honest intent for a listing of 2.5 USDC. Its challenge has the same fields, unless a test sets another challenge. */
export function intentAnswer(
  given: { payer: Hex; nowMs: number; status?: 200 | 201; name?: 'purchase_intent' | 'fee_intent' },
  lies: Partial<IntentFields> = {},
): Reply {
  const { payer, nowMs, status = 201, name = 'purchase_intent' } = given;
  const fields = {
    id: INTENT_ID,
    listing_id: name === 'fee_intent' ? null : 7,
    payer_wallet: checksummed(payer.toLowerCase() as Hex),
    seller_wallet: SELLER,
    chain_id: 8453,
    network: 'base',
    asset: checksummed(NETWORKS.base.usdc),
    minimum_amount_units: '2500000',
    minimum_amount_usdc: usdcText(2_500_000n),
    created_at: new Date(nowMs).toISOString(),
    expires_at: new Date(nowMs + 600_000).toISOString(),
    buyer: 'ada',
    ...lies,
  };
  const challenge = lies.challenge ?? challengeOf(fields);
  const more = {
    challenge_nonce: NONCE_TEXT,
    signature_method: 'personal_sign',
    tip_allowed: true,
    next: '',
    recovery_slip: 'a slip',
  };
  return { status, body: { [name]: { ...fields, ...more, challenge } } };
}

interface Sent {
  to: string;
  units: bigint;
  asset: string;
  chainId: number;
}

export const TX_HASH: Hex = `0x${'7e'.repeat(32)}`;

/** Creates a wallet that records signatures and transfers; `send` decides the outcome of a transfer. */
export function createTransferWallet(send: (sent: Sent) => Hex | Promise<Hex> = () => TX_HASH) {
  const account = privateKeyToAccount(generatePrivateKey());
  const signed: string[] = [];
  const sent: Sent[] = [];
  const wallet: TransferWallet = {
    address: account.address,
    signMessage: async ({ message }) => {
      signed.push(message);
      return await account.signMessage({ message });
    },
    sendUsdc: async (transfer) => {
      sent.push(transfer);
      return await send(transfer);
    },
  };
  return { ...wallet, signed, sent };
}

export const delivered = deliveryAnswer(7);
export const pending = (seconds: number) => pendingAnswer({ retry: 'same_request', retry_after_seconds: seconds });

interface TransferScript {
  claims?: Reply[];
  /** Default: first a new intent, later the same one again. */
  intents?: Reply[];
  lies?: Partial<IntentFields>;
  listing?: object;
  facts?: object;
  payment?: object;
  collected?: Reply;
  wallet?: ReturnType<typeof createTransferWallet>;
}

/** Starts a buyer and a market that follows the script; the last answer of each kind repeats. */
export async function buyerBefore(script: TransferScript, options: Partial<BuyByTransferOptions> = {}) {
  const time = createTestTime();
  const wallet = script.wallet ?? createTransferWallet();
  const counts = { intents: 0, claims: 0 };
  const nth = (replies: Reply[], index: number): Reply => replies[Math.min(index, replies.length - 1)] ?? 'cut';
  const scripted = await startScriptedMarket(({ path }) => {
    if (path.startsWith('/api/listing/')) return listingAnswer(7, script.listing ?? {});
    if (path.startsWith('/api/official')) return officialAnswer(script.facts);
    if (path.startsWith('/api/payment')) {
      return { status: 200, body: { payment: { ...paymentRecord(), ...script.payment } } };
    }
    if (path.startsWith('/api/buy/')) return script.collected ?? 'cut';
    if (path.startsWith('/api/claim/')) return nth(script.claims ?? [delivered], counts.claims++);
    const status = counts.intents === 0 ? 201 : 200;
    const own = intentAnswer({ payer: wallet.address, nowMs: time.now(), status }, script.lies);
    return nth(script.intents ?? [own], counts.intents++);
  });
  onTestFinished(() => scripted[Symbol.asyncDispose]());
  const phases: string[] = [];
  const store = createMemoryTransferStore();
  const newClient = () =>
    createClient({ baseUrl: scripted.baseUrl, callsItself: `https://${DOMAIN}`, key: 'k', environment: time });
  const client = newClient();
  const base: BuyByTransferOptions = {
    ...{ client, wallet, store, listingId: 7, maxPriceUsdc: 2.5 },
    onProgress: ({ phase }) => phases.push(phase),
  };
  const asked = (path: string) => scripted.seen.filter((request) => request.path.startsWith(path));
  const act = (more: Partial<BuyByTransferOptions> = {}) => buyByTransfer({ ...base, ...options, ...more });
  const storeKey = `${scripted.baseUrl} buy by transfer 7 ${wallet.address.toLowerCase()}`;
  return { act, time, wallet, phases, store, storeKey, asked, newClient, base };
}
