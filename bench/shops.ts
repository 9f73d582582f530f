import { type Hex, isHex } from '../src/platform/hex.ts';
import { payerAccount, stockPayerAccount } from './chain.ts';
import type { Buyers, Order } from './orders.ts';
import type { Seeded } from './seed.ts';
import { requestBytes, type WireAnswer } from './wire.ts';

export interface Told {
  /** Name of the answer, such as `202` or `503 settlement_pending`. */
  name: string;
  /** The mined transaction, once an answer names it. */
  mined: { hash: Hex; block: number | null } | null;
  outcome: 'goods' | 'pending' | 'failed';
}

export interface Shop {
  buyers: Buyers;
  request(order: Order): Buffer;
  read(order: Order, answer: WireAnswer): Told;
}

/** Half of the payers buy with a merchant's key, the others without an account. Half of the proofs are v1, half v2. */
export function marketShop(url: string, { buyerKeys }: Seeded): Shop {
  return {
    buyers: {
      account: payerAccount,
      keys: buyerKeys.map((key, n) => (n % 2 === 0 ? key : undefined)),
      versions: [1, 2],
    },
    request: ({ goods, headers }) => requestBytes(url, { method: 'POST', path: `/api/buy/${goods.id}`, headers }),
    read: readMarket,
  };
}

/** Uses version 2 of x402, the default of the stock seller's packages. */
export function stockShop(url: string): Shop {
  return {
    buyers: { account: stockPayerAccount, keys: [], versions: [2] },
    request: ({ goods, headers }) => requestBytes(url, { method: 'POST', path: `/buy/${goods.id}`, headers }),
    read: readStock,
  };
}

interface MarketBody {
  reason?: string;
  detail?: string;
  delivery_token?: string;
  artifact?: string;
  payment?: { tx_hash: string | null; block_number: number | null };
  receipt?: { tx_hash: string; block_number: number } | null;
}

function readMarket(order: Order, { status, body: bytes }: WireAnswer): Told {
  const body = JSON.parse(bytes.toString()) as MarketBody;
  const name = [status, body.reason].filter((part) => part !== undefined).join(' ');
  if (body.delivery_token !== undefined) order.headers['x-delivery-token'] = body.delivery_token;
  const { tx_hash: hash = null, block_number: block = null } = body.payment ?? body.receipt ?? {};
  // Ignore a transaction without a block, because it may still be replaced.
  const mined = isHex(hash, 32) && block !== null ? { hash, block } : null;
  if (status === 200) {
    checkGoods(order, body.artifact);
    return { name, mined, outcome: 'goods' };
  }
  if (status === 202 || status === 503) return { name, mined, outcome: 'pending' };
  throw new Error(`a purchase of listing ${order.goods.id} was answered ${name}: ${body.detail}`);
}

function readStock(order: Order, { status, head, body: bytes }: WireAnswer): Told {
  const name = String(status);
  if (status !== 200) return { name, mined: null, outcome: 'failed' };
  checkGoods(order, (JSON.parse(bytes.toString()) as { artifact?: string }).artifact);
  const settled = /\r\npayment-response: *([\w+/=-]+)/i.exec(head)?.[1] ?? '';
  const { transaction: hash } = JSON.parse(Buffer.from(settled, 'base64').toString()) as { transaction?: unknown };
  if (!isHex(hash, 32)) throw new Error('the stock seller named no transaction');
  return { name, mined: { hash, block: null }, outcome: 'goods' };
}

function checkGoods({ goods }: Order, artifact: string | undefined): void {
  if (artifact !== goods.artifact) throw new Error(`listing ${goods.id} delivered something else`);
}
