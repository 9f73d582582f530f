import { afterAll, describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type Answer, paidUnits, signProof } from '../support/market-world.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { withdrawListing } from '../support/seed.ts';
import { listGoods, newGoods, PRICE, signFee, testTrade } from '../support/trade.ts';

const { sellerOne, treasury } = WORLD_ACCOUNTS;
const rpc = await startRpcProxy();
afterAll(() => rpc.close());
const { world, goods, wallet } = testTrade({ rpcUrl: rpc.at });
let made = 0;

/** Starts the first request, holds it at that chain read, runs the second to its end, then releases the first. */
async function overtake(mark: string, first: () => Promise<Answer>, second: () => Promise<Answer>): Promise<Answer[]> {
  const { held, release } = rpc.holdNext(mark);
  const late = first();
  await held;
  const early = await second();
  release();
  return [early, await late];
}

const statuses = (answers: Answer[]) => answers.map(({ status, body }) => [status, body['reason'] ?? body['status']]);
const PENDING = [202, 'payment_pending'];

/** Selectors of the chain reads about a payer: whether its authorization was used, and its balance. */
const NONCE = '0xe94a0102';
const BALANCE = '0x70a08231';

describe('a request that was overtaken while it looked at the chain', () => {
  it.each([
    ['its nonce', NONCE],
    ['its wallet', BALANCE],
  ])('by the same purchase is answered with that, though %s has been used meanwhile', async (_, mark) => {
    const { id, terms } = await goods();
    const payer = await wallet(PRICE);
    const proof = await signProof(world.chain, payer, terms);
    const buy = (version: 'v1' | 'v2') => () => world.buy(id, { proof: proof[version] });
    expect(statuses(await overtake(mark, buy('v1'), buy('v2')))).toEqual([PENDING, PENDING]);
    expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
  });

  it('by another signature of the same payer is answered with that purchase, and nothing is asked for', async () => {
    const { id, terms } = await goods();
    const payer = await wallet(PRICE);
    const [one, other] = [await signProof(world.chain, payer, terms), await signProof(world.chain, payer, terms)];
    const answers = await overtake(
      BALANCE,
      () => world.buy(id, { proof: one.v2 }),
      () => world.buy(id, { proof: other.v2 }),
    );
    expect(statuses(answers)).toEqual([PENDING, PENDING]);
  });

  it('by the same purchase is answered with that, though the listing has been withdrawn meanwhile', async () => {
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    const answers = await overtake(
      BALANCE,
      () => world.buy(id, { proof: proof.v1 }),
      async () => {
        const answer = await world.buy(id, { proof: proof.v1 });
        await withdrawListing(world.db.database, id);
        return answer;
      },
    );
    expect(statuses(answers)).toEqual([PENDING, PENDING]);
  });

  it.each([
    ['its nonce', NONCE],
    ['its wallet', BALANCE],
  ])('by the same fee is answered with that, though %s has been used meanwhile', async (_, mark) => {
    made += 1;
    const member = await world.join(`merchant-${made}`);
    const payer = await wallet(1_000_000n);
    const body = newGoods();
    const proof = await signFee(world, payer);
    const list = () => listGoods(world, member, body, { proof: proof.v1 });
    expect(statuses(await overtake(mark, list, list))).toEqual([PENDING, PENDING]);
    expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([1_000_000n]);
  });

  it('by a payment for something else is refused all the same', async () => {
    const [one, other] = [await goods(), await goods()];
    const payer = await wallet(PRICE);
    const [late, early] = [
      await signProof(world.chain, payer, one.terms),
      await signProof(world.chain, payer, other.terms),
    ];
    const answers = await overtake(
      BALANCE,
      () => world.buy(one.id, { proof: late.v1 }),
      () => world.buy(other.id, { proof: early.v1 }),
    );
    expect(statuses(answers)).toEqual([PENDING, [402, 'insufficient_funds']]);
  });
});
