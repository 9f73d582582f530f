import sql from 'sql-template-tag';
import { afterAll, beforeAll } from 'vitest';
import { type TestAccount, testAccount } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { type Claiming, feePayment, openFeeIntent, signChallenge, transfer } from '../support/direct.ts';
import { type Answer, type Member, startWorld, type World, type WorldOptions } from '../support/market-world.ts';
import { GAS_WEI, type GoodsBody, listGoods } from '../support/trade.ts';

export const FEE = 1_000_000n;

export const statusAndReason = ({ status, body }: Answer): unknown[] => [
  status,
  body['reason'] ?? body['status'] ?? 'ok',
];

/** Large enough that blocks become final only when a test says so. */
const FINALITY_BLOCKS = 24;

export interface PaidFee extends Claiming {
  payer: TestAccount;
}

export interface FeeStage {
  world: World;
  keeper: Member;
  /** Makes everything mined so far final. */
  finalize(): Promise<void>;
  /** Creates a merchant with its own daily limit of guard runs. */
  merchant(): Promise<Member>;
  /** Creates a wallet with gas for its own transactions. */
  wallet(usdcUnits?: bigint): Promise<TestAccount>;
  /** Opens an intent, signs and transfers, without claiming. With `named`, the intent names that wallet as its payer. */
  payFee(member: Member, given?: { units?: bigint; payer?: TestAccount; named?: TestAccount }): Promise<PaidFee>;
  list(member: Member, body: GoodsBody, claiming: Claiming): Promise<Answer>;
  countOf(
    table: 'payments' | 'listings' | 'fees' | 'pending_listings' | 'artifact_guards',
    member: Member,
  ): Promise<number>;
  creditsOf(member: Member): Promise<unknown>;
  newestEvents(): Promise<Record<string, unknown>[]>;
}

/** Creates one world for all tests of a file about fees by transfer. Its fields are readable only while tests run. */
export function feeStage(options: WorldOptions = {}): FeeStage {
  let started: { world: World; keeper: Member } | null = null;
  let made = 0;
  const current = () => {
    if (started === null) throw new Error('the world exists only while tests run');
    return started;
  };
  beforeAll(async () => {
    const world = await startWorld({ chain: { finalityBlocks: FINALITY_BLOCKS }, ...options });
    started = { world, keeper: await world.join('the-keeper') };
  });
  afterAll(() => started?.world.stop());

  const stage: FeeStage = {
    get world() {
      return current().world;
    },
    get keeper() {
      return current().keeper;
    },
    finalize: () => stage.world.chain.mine(FINALITY_BLOCKS + 2),
    merchant: () => {
      made += 1;
      return stage.world.join(`merchant-${made}`);
    },
    wallet: async (usdcUnits = 10n * FEE) => {
      made += 1;
      const account = testAccount(`fee payer ${made}`);
      await fund(stage.world.chain, [{ address: account.address, usdcUnits, wei: GAS_WEI }]);
      return account;
    },
    payFee: async (member, { units = FEE, payer, named } = {}) => {
      const from = named ?? payer ?? (await stage.wallet());
      const intent = await openFeeIntent(stage.world, member, named && { payer_wallet: named.address });
      const signature = await signChallenge(from, intent);
      const txHash = await transfer(stage.world, from, intent.seller_wallet, units);
      return { intent, signature, txHash, payer: from };
    },
    list: (member, body, claiming) => listGoods(stage.world, member, { ...body, fee_payment: feePayment(claiming) }),
    countOf: async (table, member) => {
      const tables = {
        payments: sql`payments`,
        listings: sql`listings`,
        fees: sql`fees`,
        pending_listings: sql`pending_listings`,
        artifact_guards: sql`artifact_guards`,
      };
      const row = await stage.world.db.database.one<{ found: bigint }>(
        sql`select count(*) as found from ${tables[table]} where merchant_id = ${member.id}`,
      );
      return Number(row.found);
    },
    creditsOf: async (member) => (await stage.world.ask('GET', '/api/me', { key: member.key })).body['credits'],
    newestEvents: async () => {
      await stage.world.running.eventsSettled();
      const { body } = await stage.world.ask('GET', '/api/events');
      return body['events'] as Record<string, unknown>[];
    },
  };
  return stage;
}
