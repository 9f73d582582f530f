import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { settleData } from '../support/chain.ts';
import { claim, feePayment, type ShownIntent, signChallenge, transferData } from '../support/direct.ts';
import {
  type Answer,
  BASE_URL,
  type Member,
  type SignedProof,
  signProof,
  type World,
} from '../support/market-world.ts';
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedListing } from '../support/seed.ts';
import { FEE_TERMS, listGoods, newGoods } from '../support/trade.ts';
import type { Place, ReorgChain, Signed, Sought } from './reorg-chain.ts';

export const KINDS = ['purchase by x402', 'fee by x402', 'purchase by transfer', 'fee by transfer'] as const;
export type Kind = (typeof KINDS)[number];
const PRICE = 2_500_000n;

export type Ending = 'paid' | 'unpaid' | 'review';

/** A payment from opening to outcome. */
export interface PaymentUnderTest extends Sought {
  name: string;
  kind: Kind;
  isX402: boolean;
  /** The ledger's key of the payment: its authorization nonce or its intent id. */
  key: string;
  /** Alternative transactions, each of which would make this payment. At most one is in the chain. */
  transfers: readonly Signed[];
  /** Unix time in seconds. A transfer in a block before `begin`, or at or after `end`, is not in time. */
  begin: number;
  end: number;
  /** True if the market has requested settlement or the payment was claimed. */
  isSubmitted: boolean;
  /** True if the market has a row for the payment. */
  isOpened: boolean;
  place: Place | null;
  /** True if the market has seen the transfer at its current position. */
  isSeen: boolean;
  ending: Ending | null;
  /** Requests settlement again, or claims. */
  submit(): Promise<Answer>;
  /** Retries as a buyer who has nothing new to send. */
  ask(): Promise<Answer>;
  /**
   * Retries with a newly signed proof. Null if the payment needs no proof. Call only while the payment is undecided, since a new proof
   * would open another payment later.
   */
  askWithNewProof: (() => Promise<Answer>) | null;
  /** Whether this answer delivers the goods. */
  isDelivery(answer: Answer): boolean;
  accounts: readonly TestAccount[];
}

export interface PaymentSetup {
  world: World;
  chain: ReorgChain;
  facilitator: ScriptedFacilitator;
  seller: Member;
  buyer: Member;
  now(): number;
  /** Accounts that send other people's transfers and need only gas. */
  senders: TestAccount[];
  /** Accounts that pay by x402, for many goods at once. */
  payers: readonly TestAccount[];
  /** Accounts that pay by transfer, one payment at a time. */
  wallets: TestAccount[];
}

let made = 0;

function takeAccount(from: TestAccount[]): TestAccount {
  const account = from.shift();
  if (account === undefined) throw new Error('all accounts are in use');
  return account;
}

async function goods({ world, seller }: PaymentSetup, secret: string): Promise<bigint> {
  const given = { wallet: WORLD_ACCOUNTS.sellerOne.address, priceUnits: PRICE, artifact: secret };
  const { id } = await seedListing(world.db.database, seller.id, given);
  await world.running.eventsSettled();
  return id;
}

/** If `isSettled`, the facilitator returns garbage to /settle; otherwise already to /verify. */
function scriptFacilitator({ facilitator }: PaymentSetup, isSettled: boolean): void {
  facilitator.script({ verify: isSettled ? 'valid' : 'garbage', settle: 'garbage' });
}

interface X402Order {
  kind: Kind;
  terms: { payTo: Hex; units: bigint; resource: string };
  payer: TestAccount;
  secondsAhead: number;
  /** Sends the request with the proof. Null sends only the key. */
  request(proof: SignedProof['v2'] | null): Promise<Answer>;
  isDelivery(answer: Answer): boolean;
}

async function openX402(hangar: PaymentSetup, order: X402Order, isSettled: boolean): Promise<PaymentUnderTest> {
  const { chain, facilitator, senders } = hangar;
  const { terms, payer, secondsAhead } = order;
  const proof = await signProof(chain.chain, payer, { ...terms, now: hangar.now(), secondsAhead });
  const { authorization, signature } = proof;
  const data = settleData(authorization, signature);
  const accounts = [takeAccount(senders), takeAccount(senders)] as const;
  const alone = await chain.sign(accounts[0], { to: USDC_ADDRESS, data });
  const batched = await chain.sign(accounts[1], await chain.batched(data));
  const request = async (): Promise<Answer> => {
    const before = facilitator.calls.settle;
    const answer = await order.request(proof.v2);
    flight.isSubmitted ||= facilitator.calls.settle > before;
    return answer;
  };
  const transfers = [alone, batched];
  const flight: PaymentUnderTest = {
    ...{
      ...newPaymentUnderTest(order.kind),
      isX402: true,
      transfers,
      hashes: transfers.map(({ hash }) => hash),
      accounts,
    },
    ...{ from: payer.address, to: terms.payTo, units: terms.units, isOpened: true },
    ...{ key: authorization.nonce.slice(2), begin: 0, end: Number(authorization.validBefore) },
    submit: async () => {
      scriptFacilitator(hangar, true);
      return await request();
    },
    ask: () => order.request(null),
    askWithNewProof: async () => {
      const fresh = await signProof(chain.chain, payer, { ...terms, now: hangar.now(), secondsAhead });
      return await order.request(fresh.v2);
    },
    isDelivery: order.isDelivery,
  };
  scriptFacilitator(hangar, isSettled);
  const { status, body } = await request();
  const isOpening =
    flight.isSubmitted === isSettled && body['do_not_pay_again'] === true && (status === 503 || status === 202);
  if (!isOpening) throw new Error(`${flight.name} was not opened: ${status} ${JSON.stringify(body)}`);
  return flight;
}

function newPaymentUnderTest(kind: Kind) {
  made += 1;
  return {
    kind,
    name: `payment ${made} (${kind})`,
    isSubmitted: false,
    place: null,
    isSeen: false,
    ending: null,
  } as const;
}

interface DirectOrder {
  kind: Kind;
  intent: ShownIntent;
  payer: TestAccount;
  units: bigint;
  request(claiming: { intent: ShownIntent; txHash: string; signature: string }): Promise<Answer>;
  isDelivery(answer: Answer): boolean;
}

/** Opens an intent without mining, because the run counts blocks. */
async function openIntent(world: World, member: Member, path: string): Promise<ShownIntent> {
  const { status, body } = await world.ask('POST', path, { key: member.key, body: {} });
  if (status !== 201) throw new Error(`no intent: ${JSON.stringify(body)}`);
  return (body['purchase_intent'] ?? body['fee_intent']) as ShownIntent;
}

async function openDirect({ chain }: PaymentSetup, order: DirectOrder): Promise<PaymentUnderTest> {
  const { intent, payer, units } = order;
  const signature = await signChallenge(payer, intent);
  const signed = await chain.sign(payer, transferData(intent.seller_wallet, units));
  const ask = () => order.request({ intent, txHash: signed.hash, signature });
  const flight: PaymentUnderTest = {
    ...{
      ...newPaymentUnderTest(order.kind),
      isX402: false,
      isOpened: false,
      transfers: [signed],
      hashes: [signed.hash],
    },
    ...{ from: payer.address, to: intent.seller_wallet.toLowerCase() as Hex, units, key: intent.id },
    ...{ begin: Date.parse(intent.created_at) / 1000, end: Date.parse(intent.expires_at) / 1000 },
    submit: async () => {
      [flight.isSubmitted, flight.isOpened] = [true, true];
      return await ask();
    },
    ask,
    askWithNewProof: null,
    isDelivery: order.isDelivery,
    accounts: [payer],
  };
  return flight;
}

/** Opens a payment of that kind. For x402, `isSettled` says whether the facilitator is asked to settle. */
export async function openPaymentUnderTest(
  hangar: PaymentSetup,
  kind: Kind,
  secondsAhead: number,
  isSettled: boolean,
): Promise<PaymentUnderTest> {
  const { world, buyer, seller, payers, wallets } = hangar;
  const secret = `secret goods ${made}`;
  const isGoods = ({ status, body }: Answer): boolean => status === 200 && body['artifact'] === secret;
  const isListed = ({ status, body }: Answer): boolean =>
    (status === 200 || status === 201) && typeof body['listing_id'] === 'number';
  const payer = payers[made % payers.length] ?? WORLD_ACCOUNTS.buyerOne;
  if (kind === 'purchase by x402') {
    const id = await goods(hangar, secret);
    const terms = { payTo: WORLD_ACCOUNTS.sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${id}` };
    const request: X402Order['request'] = (proof) => world.buy(id, { key: buyer.key, ...(proof && { proof }) });
    return await openX402(hangar, { kind, terms, payer, secondsAhead, request, isDelivery: isGoods }, isSettled);
  }
  if (kind === 'fee by x402') {
    const body = newGoods();
    const request: X402Order['request'] = (proof) => listGoods(world, seller, body, proof ? { proof } : {});
    const order = { kind, terms: FEE_TERMS, payer, secondsAhead, request, isDelivery: isListed };
    return await openX402(hangar, order, isSettled);
  }
  if (kind === 'purchase by transfer') {
    const id = await goods(hangar, secret);
    const intent = await openIntent(world, buyer, `/api/purchase-intent/${id}`);
    const request: DirectOrder['request'] = (claiming) => claim(world, buyer, id, claiming);
    return await openDirect(hangar, {
      kind,
      intent,
      payer: takeAccount(wallets),
      units: PRICE,
      request,
      isDelivery: isGoods,
    });
  }
  const body = newGoods();
  // Use a new merchant, since each may have only one open intent for fees.
  const merchant = await world.join(`lister-${made}`);
  const intent = await openIntent(world, merchant, '/api/fee-intent');
  const request: DirectOrder['request'] = (claiming) =>
    listGoods(world, merchant, { ...body, fee_payment: feePayment(claiming) });
  const order = { kind, intent, payer: takeAccount(wallets), units: LISTING_FEE_UNITS, request, isDelivery: isListed };
  return await openDirect(hangar, order);
}

/** Makes the payment's accounts available to other payments. */
export function finishPayment({ senders, wallets }: PaymentSetup, flight: PaymentUnderTest): void {
  (flight.isX402 ? senders : wallets).push(...flight.accounts);
}
