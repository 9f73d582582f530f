import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { type Answer, BASE_URL, type Member, type SignedProof, signProof, type World } from './market-world.ts';

let made = 0;

export type GoodsBody = Record<string, unknown> & { title: string; artifact: string };

/** A good request to list; what is not named differs from that of every other one. */
export function newGoods(changes: Record<string, unknown> = {}): GoodsBody {
  made += 1;
  return {
    title: `Goods ${made}`,
    description: 'What it is',
    preview: 'A look at it',
    artifact: `hidden goods ${made}`,
    price_usdc: 2.5,
    seller_wallet: WORLD_ACCOUNTS.sellerOne.address,
    ...changes,
  };
}

export function listGoods(
  world: World,
  member: Member,
  body: unknown,
  asked: { proof?: SignedProof['v1']; dryRun?: true } = {},
): Promise<Answer> {
  const path = asked.dryRun ? '/api/listing?dry_run=true' : '/api/listing';
  return world.ask('POST', path, { key: member.key, body, ...(asked.proof ? { proof: asked.proof } : {}) });
}

export const FEE_TERMS = {
  payTo: WORLD_ACCOUNTS.treasury.address,
  units: LISTING_FEE_UNITS,
  resource: `${BASE_URL}/api/listing`,
};

export function signFee(world: World, payer: TestAccount): Promise<SignedProof> {
  return signProof(world.chain, payer, FEE_TERMS);
}

/** A wallet of its own, so that what it paid can be counted. */
export async function fundedWallet(world: World, usdcUnits = 100_000_000n): Promise<TestAccount> {
  made += 1;
  const account = testAccount(`wallet ${made} of a test`);
  await fund(world.chain, [{ address: account.address, usdcUnits }]);
  return account;
}

/** Lists with the fee paid, and brings it to the shelf. */
export async function listPaid(world: World, member: Member, body: unknown, payer: TestAccount): Promise<Answer> {
  const proof = await signFee(world, payer);
  await listGoods(world, member, body, { proof: proof.v2 });
  await world.finalize();
  return listGoods(world, member, body);
}
