import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type BuyGoodsOptions, buyGoods } from '../../src/agent/buy-goods.ts';
import { readPolicy } from '../../src/agent/policy.ts';
import { openSpendBook } from '../../src/agent/spend-book.ts';
import type { Delivery } from '../../src/contract/listings.ts';
import type { PaymentOut } from '../../src/contract/payments.ts';
import { createClient } from '../../src/sdk/client.ts';
import { systemEnvironment } from '../../src/sdk/environment.ts';
import {
  ARTIFACT,
  deliveryAnswer,
  listingAnswer,
  officialAnswer,
  paymentRecord,
  paymentRequiredAnswer,
  refusalAnswer,
  SELLER,
} from './market-answers.ts';
import {
  collects,
  createTestTime,
  createTestWallet,
  nonceIn,
  noncesToSettle,
  type Reply,
  type SeenRequest,
  startScriptedMarket,
} from './scripted-market.ts';

/** The 402 for a listing of 2.5 USDC. */
export const asked = paymentRequiredAnswer({ payTo: SELLER, units: '2500000' });

export const RECEIPT: NonNullable<Delivery['receipt']> = {
  ...{ payment_id: 9, tx_hash: `0x${'7a'.repeat(32)}`, block_number: 5, block_hash: `0x${'7b'.repeat(32)}` },
  ...{ block_time: '2026-01-02T03:04:05.678Z', payer: SELLER, payee: SELLER, asset: SELLER, amount_usdc: 2.5 },
  ...{ amount_units: '2500000', network: 'base' },
};

type Answer = Reply | ((request: SeenRequest) => Reply);

function answerTo(request: SeenRequest, answer: Answer): Reply {
  return typeof answer === 'function' ? answer(request) : answer;
}

/** Delivers the goods of `deliveryAnswer` as a file at the address that the request went to. */
export function fileAnswer(fields: Partial<Delivery> = {}) {
  return ({ headers }: SeenRequest): Reply => {
    const about = {
      bytes: ARTIFACT.length,
      media_type: 'text/plain',
      filename: 'a.txt',
      sha256: `0x${'5b'.repeat(32)}`,
    };
    const link = { url: `http://${headers.host}/api/download/7`, download_token: null, expires_at: null };
    return deliveryAnswer(7, { artifact: null, download: { ...about, ...link }, receipt: RECEIPT, ...fields });
  };
}

export interface Told {
  /** Fields of listing 7, evaluated at every read. */
  listing?: () => object;
  /** Answers to attempts to collect before the goods were delivered: first without a signature, then with one. */
  looks?: readonly [Answer, Answer];
  /** Answer to a download of goods that are a file. */
  file?: (request: SeenRequest) => Reply;
  /** Fields of the payment that the market returns for an authorization's nonce. Omitted if the market knows no payment. */
  payment?: Partial<PaymentOut>;
}

const NOT_YOURS = [asked, refusalAnswer('nothing_to_collect')] as const;

/**
 * Starts a buyer with an empty book and a scripted market that shows listing 7. Purchases are answered in order; the last answer repeats.
 * Attempts to collect get the answers in `looks` until the goods were delivered.
 */
export async function buyerBefore(script: Answer[], told: Told = {}) {
  const { listing = () => ({}), looks = NOT_YOURS, payment, file = () => 'cut' } = told;
  let bought = 0;
  let isHad = false;
  const scripted = await startScriptedMarket((request) => {
    if (collects(request) && !isHad) return answerTo(request, looks[nonceIn(request) === null ? 0 : 1]);
    if (request.method === 'POST') {
      bought += 1;
      const reply = answerTo(request, script[Math.min(bought, script.length) - 1] ?? 'cut');
      isHad ||= reply !== 'cut' && reply.status === 200;
      return reply;
    }
    if (request.path.startsWith('/api/download/')) return file(request);
    if (request.path.startsWith('/api/payment'))
      return payment === undefined
        ? refusalAnswer('payment_not_found')
        : { status: 200, body: { payment: { ...paymentRecord(), ...payment } } };
    return request.path.startsWith('/api/listing') ? listingAnswer(7, listing()) : officialAnswer();
  });
  onTestFinished(() => scripted[Symbol.asyncDispose]());
  const home = await mkdtemp(join(tmpdir(), 'openaisle-buy-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const env = { HOME: home };
  const time = createTestTime();
  const wallet = createTestWallet();
  const environment = { now: time.now, deadline: systemEnvironment.deadline };
  const book = openSpendBook({ env, address: wallet.address, environment });
  const policy = await readPolicy(env);
  const client = createClient({ baseUrl: scripted.baseUrl, environment: time });
  const act = (more: Partial<BuyGoodsOptions> = {}) =>
    buyGoods({ client, wallet, policy, book, listingId: 7, maxPriceUsdc: 3, ...more });
  const paid = () => noncesToSettle(scripted.seen.filter(({ method }) => method === 'POST')).size;
  const shared = { client, wallet, policy, book };
  return { act, wallet, book, paid, time, home, shared, baseUrl: scripted.baseUrl, seen: scripted.seen };
}
