import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import type { Authorization } from '../../src/platform/chain/shapes.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { signAuthorization } from '../../test/support/chain.ts';
import { payerAccount } from '../chain.ts';
import { makeAuthorization } from '../proof.ts';
import { type Goods, goodsOf } from '../seed.ts';
import { PAYERS } from '../settings.ts';

/** A payment for one listing by one buyer, who has the merchant's key of the same number. */
export interface Signed {
  goods: Goods;
  buyer: number;
  authorization: Authorization;
  signature: Hex;
}

/** Signs payments, each for a different listing, from the first on. */
export async function signPayments(chain: LocalChain, count: number): Promise<Signed[]> {
  const signed: Signed[] = [];
  for (let n = 0; n < count; n += 1) {
    const goods = goodsOf(BigInt(n + 1));
    const payer = payerAccount(n);
    const authorization = makeAuthorization(payer, goods.payee, goods.priceUnits);
    signed.push({
      goods,
      buyer: n % PAYERS,
      authorization,
      signature: await signAuthorization(chain, payer, authorization),
    });
  }
  return signed;
}
