import type { TestAccount } from '../src/local/chain/accounts.ts';
import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { signAuthorization } from '../test/support/chain.ts';
import { makeAuthorization, proofHeader } from './proof.ts';
import type { Goods } from './seed.ts';
import { PAYERS } from './settings.ts';

export interface Order {
  goods: Goods;
  payer: TestAccount;
  headers: Record<string, string>;
}

export interface Buyers {
  account(n: number): TestAccount;
  /** Keys of merchants by payer number. Undefined for payers without an account. */
  keys: readonly (string | undefined)[];
  /** x402 versions, used in turn. */
  versions: readonly (1 | 2)[];
}

/** Signs orders, with the same goods and prices for all who use the same shelves. No payer buys the same goods twice. */
export async function signOrders(
  chain: LocalChain,
  goods: readonly Goods[],
  buyers: Buyers,
  given: { count: number; madeBefore: number },
): Promise<Order[]> {
  const orders: Order[] = [];
  for (let n = given.madeBefore; n < given.madeBefore + given.count; n += 1) {
    const wanted = goods[n % goods.length];
    if (wanted === undefined) throw new Error('no listing to buy');
    // Shift the payers in every cycle, so that each listing gets another payer.
    const number = (n + Math.floor(n / goods.length)) % PAYERS;
    const payer = buyers.account(number);
    const authorization = makeAuthorization(payer, wanted.payee, wanted.priceUnits);
    const signature = await signAuthorization(chain, payer, authorization);
    const version = buyers.versions[Math.floor(n / 2) % buyers.versions.length] ?? 2;
    const key = buyers.keys[number];
    orders.push({
      goods: wanted,
      payer,
      headers: {
        ...proofHeader(version, authorization, signature),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
    });
  }
  return orders;
}
