import sql from 'sql-template-tag';
import type { TestAccount } from '../../src/local/chain/accounts.ts';
import { type Hex, toHex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import {
  claim,
  openIntent,
  type ShownIntent,
  signChallenge,
  statusBy,
  transfer,
  transferData,
} from '../support/direct.ts';
import type { Answer, Member } from '../support/market-world.ts';
import { GAS_WEI, type Goods, PRICE, type Trade } from '../support/trade.ts';

/** Goods, buyer, payer, an intent and the payer's signature over its challenge. */
export interface DirectCase extends Goods {
  payer: TestAccount;
  member: Member;
  intent: ShownIntent;
  signature: Hex;
}

export interface DirectCases {
  /** Opens an intent without paying or claiming. Defaults: the test's buyer, a new wallet, new goods. */
  begin(given?: { member?: Member; payer?: TestAccount; goods?: Goods }): Promise<DirectCase>;
  /** Transfers from payer to seller. Resolves with the hash once it is mined. */
  pay(given: DirectCase, units?: bigint): Promise<Hex>;
  signTransfer(given: Pick<DirectCase, 'payer'>, to: string, units: bigint, tip?: bigint): Promise<Hex>;
  /** Claims the goods with that transaction. */
  claimWith(given: DirectCase, txHash: Hex, signature?: Hex): Promise<Answer>;
  statusOf(given: DirectCase): Promise<Record<string, unknown>>;
  /** Undecided transactions of a claim, in the order they were submitted. */
  hashesOf(given: DirectCase): Promise<Hex[]>;
  countOf(listingId: bigint): Promise<{ payments: bigint; purchases: bigint }>;
}

const FEE_LIMIT = 200_000_000_000n;

export const someHash = (): Hex => toHex(systemRandom.bytes(32));

export function directCases({ world, buyer, goods: newGoods, wallet }: Trade): DirectCases {
  return {
    begin: async ({ member = buyer, payer, goods } = {}) => {
      const listing = goods ?? (await newGoods());
      const paying = payer ?? (await wallet(8n * PRICE, GAS_WEI));
      const intent = await openIntent(world, member, listing.id);
      return { ...listing, payer: paying, member, intent, signature: await signChallenge(paying, intent) };
    },
    pay: ({ payer, intent }, units = PRICE) => transfer(world, payer, intent.seller_wallet, units),
    signTransfer: ({ payer }, to, units, tip = 1n) =>
      payer.signer.signTransaction({
        type: 'eip1559',
        chainId: world.chain.chainId,
        nonce: 0,
        gas: 200_000n,
        maxFeePerGas: FEE_LIMIT,
        maxPriorityFeePerGas: tip,
        ...transferData(to, units),
      }),
    claimWith: (given, txHash, signature = given.signature) =>
      claim(world, given.member, given.id, { intent: given.intent, txHash, signature }),
    statusOf: ({ intent }) => statusBy(world, { intent_id: intent.id }),
    hashesOf: async ({ intent }) => {
      const rows = await world.db.database.rows<{ tx_hash: Buffer }>(sql`
        select h.tx_hash from claim_hashes h join payments p on p.id = h.payment_id
        where p.intent_id = ${Buffer.from(intent.id, 'hex')} and refused_reason is null order by place`);
      return rows.map((row) => toHex(row.tx_hash));
    },
    countOf: (listingId) =>
      world.db.database.one(sql`
        select (select count(*) from payments where listing_id = ${listingId}) as payments,
          (select count(*) from purchases where listing_id = ${listingId}) as purchases`),
  };
}
