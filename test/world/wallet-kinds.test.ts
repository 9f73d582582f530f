import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { type TestAccount, USDC_ADDRESS, usdcDomain, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { authorizationDigest } from '../../src/platform/chain/shapes.ts';
import { readBalance } from '../../src/platform/chain/usdc.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { type Answer, signProof, wrapProof } from '../support/market-world.ts';
import { PRICE, testTrade } from '../support/trade.ts';
import {
  createSimpleAccount,
  type DelegateKind,
  delegateTo,
  deployDelegate,
  signWrapped,
} from '../support/wallets/accounts-with-code.ts';
import { createSafe } from '../support/wallets/safe.ts';
import { compacted, highTwin, withShortV } from '../support/wallets/signature-spellings.ts';

const trade = testTrade();
const { world } = trade;
const { stranger } = WORLD_ACCOUNTS;

type Sign = (digest: Hex) => Promise<Hex>;

/** Builds a proof from that address for new goods, signed by `sign`. */
async function proofBy(from: Hex, sign: Sign) {
  const goods = await trade.goods();
  const { authorization } = await signProof(world.chain, stranger, { ...goods.terms, signed: { from } });
  const digest = authorizationDigest(usdcDomain(world.chain.chainId), authorization);
  const signature = await sign(digest);
  return { goods, ...wrapProof(authorization, signature, goods.terms) };
}

const balanceOf = (address: Hex): Promise<bigint> => readBalance(world.chain.rpc, USDC_ADDRESS, address);

async function countPayments(): Promise<bigint> {
  return (await world.db.database.one<{ n: bigint }>(sql`select count(*) as n from payments`)).n;
}

let buyers = 0;

/** Checks in both protocol versions that a purchase is delivered and the money moves once. */
async function paysBy(from: Hex, sign: Sign): Promise<void> {
  for (const version of ['v1', 'v2'] as const) {
    const proof = await proofBy(from, sign);
    buyers += 1;
    const { key } = await world.join(`buyer-with-wallet-${buyers}`);
    const before = await balanceOf(from);
    const bought = await world.buy(proof.goods.id, { key, proof: proof[version] });
    expect([bought.status, bought.body['reason']]).toEqual([202, undefined]);
    await world.finalize();
    expect(await world.buy(proof.goods.id, { key })).toMatchObject({
      status: 200,
      body: { artifact: proof.goods.artifact },
    });
    expect(before - (await balanceOf(from))).toBe(PRICE);
  }
}

async function isRefused(from: Hex, sign: Sign, reason: string): Promise<Answer> {
  const before = [await balanceOf(from), await countPayments()];
  const answers: Answer[] = [];
  for (const version of ['v1', 'v2'] as const) {
    const proof = await proofBy(from, sign);
    const answer = await world.buy(proof.goods.id, { proof: proof[version] });
    expect(answer).toMatchObject({ status: 402, body: { reason, do_not_pay_again: false, accepts: [{}] } });
    answers.push(answer);
  }
  expect([await balanceOf(from), await countPayments()]).toEqual(before);
  const [answer] = answers;
  if (answer === undefined) throw new Error('nothing was answered');
  return answer;
}

/** Creates a funded key account that delegates to a contract of that kind. */
async function delegated(kind: DelegateKind): Promise<{ account: TestAccount; delegate: Hex }> {
  const account = await trade.wallet(4n * PRICE);
  const delegate = await deployDelegate(world.chain, kind);
  await delegateTo(world.chain, account, delegate);
  await world.finalize();
  return { account, delegate };
}

const ownKey =
  ({ signer }: TestAccount): Sign =>
  (hash) =>
    signer.sign({ hash });

describe('a key without code pays', () => {
  it.each<[string, (signature: Hex) => Hex]>([
    ['with a v of 0 or 1', withShortV],
    ['with 64 bytes (EIP-2098)', compacted],
  ])('%s', async (_, spell) => {
    const { address, signer } = await trade.wallet(4n * PRICE);
    await paysBy(address, async (hash) => spell(await signer.sign({ hash })));
  });

  it('never with the high s, in any of the forms', async () => {
    const { address, signer } = await trade.wallet(4n * PRICE);
    for (const spell of [highTwin, (one: Hex) => withShortV(highTwin(one))]) {
      await isRefused(address, async (hash) => spell(await signer.sign({ hash })), 'signature_invalid');
    }
  });
});

describe('a Safe pays', () => {
  it.each([
    [1, 1],
    [3, 2],
  ])('with %i owners, of whom %i sign', async (owners, threshold) => {
    const safe = await createSafe(world.chain, { owners, threshold, usdcUnits: 4n * PRICE });
    await safe.deploy();
    await paysBy(safe.address, safe.sign);
    await isRefused(safe.address, (hash) => stranger.signer.sign({ hash }), 'payer_contract_refused');
  });

  it('with a signature of its owner that has a v of 0 or 1: the form that the Safe accepts is settled', async () => {
    const safe = await createSafe(world.chain, { owners: 1, threshold: 1, usdcUnits: 4n * PRICE });
    await safe.deploy();
    await paysBy(safe.address, async (digest) => withShortV(await safe.sign(digest)));
  });

  it('with a signature that is wrapped still, once it is deployed; before it is told so', async () => {
    const safe = await createSafe(world.chain, { owners: 3, threshold: 2, usdcUnits: 4n * PRICE });
    const sign: Sign = async (digest) => safe.wrap(await safe.sign(digest));
    const refused = await isRefused(safe.address, sign, 'payer_not_deployed');
    expect(refused.body).toMatchObject({ retry: 'never' });
    expect(refused.body['next_step']).toContain('POST /api/purchase-intent/:id');
    await safe.deploy();
    await paysBy(safe.address, sign);
  });
});

it('an account that answers no EIP-1271 cannot pay, and is told what can', async () => {
  const account = await createSimpleAccount(world.chain, 4n * PRICE);
  const refused = await isRefused(
    account.address,
    (hash) => account.owner.signer.sign({ hash }),
    'payer_contract_refused',
  );
  expect(refused.body).toMatchObject({ retry: 'never', delegate: null });
  expect(refused.body['next_step']).toContain('POST /api/purchase-intent/:id');
});

describe('a key whose account delegates (EIP-7702)', () => {
  it('to a contract that answers no EIP-1271: cannot pay by its key, and the contract is named', async () => {
    const { account, delegate } = await delegated('mute');
    const refused = await isRefused(account.address, ownKey(account), 'payer_contract_refused');
    expect(String(refused.body['delegate']).toLowerCase()).toBe(delegate);
    expect(refused.body['detail']).toContain(refused.body['delegate']);
    expect(refused.body).toMatchObject({ retry: 'never' });
  });

  it('to one that takes what the key signed: pays, also with a signature in another form', async () => {
    const { account } = await delegated('plain');
    await paysBy(account.address, ownKey(account));
    await fund(world.chain, [{ address: account.address, usdcUnits: 4n * PRICE }]);
    const sign = ownKey(account);
    for (const spell of [withShortV, compacted]) {
      await fund(world.chain, [{ address: account.address, usdcUnits: 2n * PRICE }]);
      await paysBy(account.address, async (hash) => spell(await sign(hash)));
    }
  });

  it('to one that wraps what it is asked: pays with a wrapped signature only', async () => {
    const { account } = await delegated('wraps');
    await isRefused(account.address, ownKey(account), 'payer_contract_refused');
    await paysBy(account.address, (digest) => signWrapped(account, digest));
  });
});

it('terms and times have a reason of their own, and the times name the time of the market', async () => {
  const payer = await trade.wallet();
  const goods = await trade.goods();
  const wrong: [string, Record<string, bigint>, unknown][] = [
    ['terms', { value: PRICE - 1n }, undefined],
    ['times', { validBefore: BigInt(Math.floor(goods.terms.now / 1000) - 60) }, expect.stringMatching(/^20.*Z$/)],
  ];
  for (const [what, signed, marketTime] of wrong) {
    const { v2 } = await signProof(world.chain, payer, { ...goods.terms, signed });
    const answer = await world.buy(goods.id, { proof: v2 });
    expect([what, answer.body['reason'], answer.body['market_time']]).toEqual([what, 'payment_invalid', marketTime]);
  }
});
