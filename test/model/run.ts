import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { usdcOfUnits } from '../../src/contract/money.ts';
import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { CrashPoint } from '../../src/market/context.ts';
import { toHex } from '../../src/platform/hex.ts';
import {
  type Answer,
  type AskOptions,
  askMarket,
  BASE_URL,
  type Member,
  type SignedProof,
} from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { Crash, Reference } from './reference.ts';
import type { Stage } from './stage.ts';
import { type Intent, isSale, isUndecided, type Listing, type Payment, type Proof } from './terms.ts';

export const PRICES = [2_500_000n, 3_000_000n] as const;
const BUYERS_PER_RUN = 2;
const WALLETS_PER_RUN = 3;

/** Goods with a secret that occurs nowhere else. */
interface Goods {
  id: bigint;
  canary: string;
}

export interface SentIntent {
  terms: Intent;
  id: string;
  challenge: string;
}

export interface SentProof {
  terms: Proof;
  signed: SignedProof;
}

export interface Step {
  method: string;
  path: string;
  asked: AskOptions;
  expect(): string;
  crashAt?: CrashPoint | undefined;
  /** True to send the same request twice at the same time. */
  twice?: boolean;
  /** Caller. While a payment of this caller for this subject is undecided, no answer may ask for another one. */
  asker?: { subject: string; who: string | null; payer: string | null } | undefined;
}

/** Holds two buyers, three wallets, the listings (two at first) and everything sent so far. */
export class Run {
  readonly stage: Stage;
  readonly reference: Reference;
  readonly seller: Member;
  readonly buyers: readonly Member[];
  readonly wallets: readonly TestAccount[];
  readonly goods = new Map<string, Goods>();
  readonly bodies = new Map<string, object>();
  readonly intents: SentIntent[] = [];
  readonly proofs: SentProof[] = [];
  readonly tokens = new Map<Payment, string>();
  readonly sent: string[] = [];
  readonly withdrawn = new Set<Listing>();
  readonly #firstBlock: number;
  readonly #no: number;

  constructor(stage: Stage, given: { no: number; seller: Member; firstBlock: number; reference: Reference }) {
    const { no, seller, firstBlock, reference } = given;
    this.stage = stage;
    this.#no = no;
    this.seller = seller;
    this.#firstBlock = firstBlock;
    this.reference = reference;
    this.buyers = rotated(stage.buyers, no * BUYERS_PER_RUN).slice(0, BUYERS_PER_RUN);
    this.wallets = rotated(stage.wallets, no * WALLETS_PER_RUN).slice(0, WALLETS_PER_RUN);
  }

  static async begin(stage: Stage, no: number): Promise<Run> {
    const view = await stage.view(null, []);
    const seller = await stage.join(`model-seller-${no}`);
    const run = new Run(stage, { no, seller, firstBlock: view.latest.number, reference: new Reference() });
    for (const units of PRICES) {
      const canary = `canary ${no} of ${units}`;
      const given = { wallet: stage.seller.address, priceUnits: units, artifact: canary };
      const { id } = await seedListing(stage.db.database, seller.id, given);
      const name = `listing ${id}`;
      const payee = stage.seller.address;
      run.reference.listings.push({ name, payee, units, state: 'live', removedAt: null });
      run.goods.set(name, { id, canary });
    }
    await run.sync();
    return run;
  }

  async sync(): Promise<void> {
    this.reference.view = await this.stage.view(this.#firstBlock, this.sent);
    this.reference.now = this.stage.now();
  }

  ask(method: string, path: string, asked: AskOptions): Promise<Answer> {
    return askMarket(this.stage.market.url, method, path, asked);
  }

  /** Sends the request and compares the answer with the reference. Returns null if the market died. */
  async step(step: Step): Promise<Answer | null> {
    const { reference, stage } = this;
    if (step.crashAt !== undefined) {
      await stage.market.crashAt(step.crashAt);
      reference.crashAt = step.crashAt;
    }
    reference.before = reference.view.transfers;
    const asked = stage.now();
    const act = () =>
      this.ask(step.method, step.path, step.asked).catch((error: unknown) => answerOfCrash(error, step));
    const [answer, second] = await Promise.all([act(), step.twice ? act() : null]);
    await this.sync();
    // The market's clock stands still during a request, whatever is mined.
    reference.now = asked;
    const expected = this.#expect(step);
    reference.now = stage.now();
    if (step.crashAt !== undefined) {
      await stage.market.crashAt(null);
      expect(await stage.market.hasCrashed(), `died at ${step.crashAt}`).toBe(expected === null);
    }
    if (expected === null) {
      this.#count(`died ${step.crashAt}`);
      await this.restart();
      return null;
    }
    for (const one of [answer, second]) if (one !== null) this.#check(step, expected, one);
    return answer;
  }

  /** Returns the expected answer. Null if the market dies on the way. */
  #expect({ expect: act }: Step): string | null {
    try {
      return act();
    } catch (error) {
      if (error instanceof Crash) return null;
      throw error;
    } finally {
      this.reference.crashAt = null;
    }
  }

  #isPaying({ subject, who, payer }: NonNullable<Step['asker']>): boolean {
    const mine = (one: Payment): boolean => (who !== null && one.merchant === who) || one.payer === payer;
    return this.reference.payments.some(
      (one) => one.subject === subject && isUndecided(one) && !one.surplus && mine(one),
    );
  }

  async restart(): Promise<void> {
    await this.stage.mendProviders();
    await this.stage.market.restart();
    await this.sync();
    this.reference.restart();
  }

  #check(step: Step, expected: string, answer: Answer): void {
    const { status, body } = answer;
    const said = wordOf(answer);
    this.#count(
      `${step.method} ${step.path.split('/')[2]}: ${body['purchase_intent'] || body['fee_intent'] ? 'intent' : said}`,
    );
    const what = `${step.method} ${step.path}: ${status} ${JSON.stringify(body)}`;
    const isAsWanted = expected === '*' ? status === 201 : expected.split('|').includes(said);
    if (!isAsWanted) throw new Error(`the reference says ${expected}, the market ${said}\n${what}`);
    const text = JSON.stringify(body);
    for (const [name, { canary }] of this.goods) {
      const mayHave = said === 'delivered' && step.path.endsWith(`/${this.goods.get(name)?.id}`);
      if (text.includes(canary) !== mayHave)
        throw new Error(`${mayHave ? 'no' : 'stray'} goods in the answer\n${what}`);
    }
    const { asker } = step;
    if (asker === undefined) return;
    // With an invalid authorization, the market cannot know whose wallet asks.
    const isNone = said === 'payment_invalid' || said === 'authorization_used_elsewhere';
    const payer = isNone ? null : asker.payer;
    if (!this.#isPaying({ ...asker, payer })) return;
    // The listing was removed and the proof was never submitted, so the buyer may pay elsewhere.
    if (said === 'listing_removed') return;
    if (status === 402 || body['do_not_pay_again'] === false) throw new Error(`asked to pay again\n${what}`);
  }

  #count(what: string): void {
    this.stage.tally.set(what, (this.stage.tally.get(what) ?? 0) + 1);
  }

  goodsOf(listing: Listing): Goods {
    const goods = this.goods.get(listing.name);
    if (goods === undefined) throw new TypeError(`nothing is known of ${listing.name}`);
    return goods;
  }

  /** Listings whose ids are known. */
  get listings(): Listing[] {
    return this.reference.listings.filter(({ name }) => this.goods.has(name));
  }

  /** Returns a body to list, always the same for the same number. */
  body(nth: number): { name: string; body: object } {
    const name = `body ${this.#no}.${nth}`;
    const made = this.bodies.get(name) ?? {
      title: `Goods ${name}`,
      description: 'What it is',
      preview: 'A look at it',
      artifact: `canary of ${name}`,
      price_usdc: usdcOfUnits(PRICES[0]),
      seller_wallet: this.stage.seller.address,
    };
    this.bodies.set(name, made);
    return { name, body: made };
  }

  noteListed(name: string, answer: Answer): void {
    const id = answer.body['listing_id'];
    if (typeof id === 'number') this.goods.set(name, { id: BigInt(id), canary: `canary of ${name}` });
  }

  /** All transactions sent to the chain, in order of discovery. */
  get transactions(): string[] {
    return [...new Set([...this.sent, ...this.reference.view.transfers.map(({ hash }) => hash)])];
  }

  get payees() {
    return { seller: this.stage.seller, treasury: WORLD_ACCOUNTS.treasury, feeUnits: LISTING_FEE_UNITS };
  }

  resourceOf(listing: Listing): string {
    return `${BASE_URL}/api/buy/${this.goodsOf(listing).id}`;
  }

  /** Ends everything that is open: windows expire, blocks become final, and the background job runs. */
  async quiesce(): Promise<void> {
    const { stage, reference } = this;
    await stage.mendProviders();
    // A failed run may leave the market dead, and every shorter run would then fail in the same way.
    if (await stage.market.hasCrashed()) await stage.market.restart();
    reference.isFirstDark = false;
    await stage.market.crashAt(null);
    await stage.tend();
    await stage.wait(700);
    await stage.finalize();
    await this.sync();
    await stage.market.pass();
  }

  /** Compares the books of the run with the reference, row by row. */
  async compareBooks(): Promise<void> {
    const { reference, stage } = this;
    reference.pass();
    const ids = [...this.goods.values()].map(({ id }) => id);
    const rows = await stage.db.database.rows<{
      id: bigint;
      status: string;
      end_reason: string | null;
      payer: Buffer;
      proof: Buffer | null;
      sales: bigint;
    }>(sql`
      select p.id, p.status, p.end_reason, p.payer, f.tx_hash as proof,
        (select count(*) from purchases b where b.payment_id = p.id) as sales
      from payments p left join payment_proofs f on f.payment_id = p.id and f.purpose <> 'refund'
      where p.listing_id = any(${ids}::bigint[]) or (p.purpose = 'listing_fee' and p.merchant_id = ${this.seller.id})
      order by p.id`);
    const market = rows.map((row) => ({
      status: row.status,
      reason: row.end_reason ?? '',
      payer: toHex(row.payer),
      proof: row.proof && toHex(row.proof),
      sales: Number(row.sales),
    }));
    const wanted = reference.payments.map((payment) => ({
      status: STATUS[payment.status],
      reason: payment.reason,
      payer: payment.payer,
      // If one transaction holds two payments, the first has the proof.
      proof: payment.reason === 'transaction_used' ? null : (payment.transfer?.hash ?? null),
      sales: isSale(payment) ? 1 : 0,
    }));
    expect(market).toEqual(wanted);
    await this.#comparePublic();
  }

  async #comparePublic(): Promise<void> {
    for (const payment of this.reference.payments) {
      const { intent, proof, isSurplusRecord, transfer } = payment;
      const sent = this.intents.find(({ terms }) => terms === intent);
      const isLast = isSurplusRecord || (intent !== null && this.reference.claimPaymentOf(intent) === payment);
      const [payer, nonce] = proof?.authorization.split(' ') ?? [];
      if (intent !== null && !isLast) continue;
      const byIntent = sent ? `intent_id=${sent.id}` : `payer=${payer}&nonce=${nonce}`;
      const query = isSurplusRecord ? `tx_hash=${transfer?.hash}` : byIntent;
      const { body } = await this.ask('GET', `/api/payment?${query}`, {});
      const shown = body['payment'] as { payment_status: string; do_not_pay_again: boolean } | undefined;
      // A contract may have sent the transfer, which the market sees when the same claim is sent again.
      const mayBeOfContract = intent?.payer === null && payment.reason === 'wrong_payer';
      const isOver = payment.status === 'unpaid' || payment.status === 'rejected';
      expect([shown?.payment_status, shown?.do_not_pay_again]).toEqual([
        STATUS[payment.status],
        !isOver || mayBeOfContract,
      ]);
    }
  }
}

const STATUS = {
  open: 'payment_pending',
  completed: 'completed',
  unpaid: 'unpaid',
  review: 'needs_review',
  rejected: 'rejected',
} as const satisfies Record<Payment['status'], string>;

function rotated<T>(all: readonly T[], by: number): T[] {
  const at = by % all.length;
  return [...all.slice(at), ...all.slice(0, at)];
}

function answerOfCrash(error: unknown, step: Step): Answer {
  if (step.crashAt === undefined) throw error;
  return { status: 0, headers: new Headers(), body: {} };
}

/** Translates an answer into the reference's term. */
function wordOf({ status, body }: Answer): string {
  if (status === 202) return 'pending';
  if (status !== 200 && status !== 201) return String(body['reason']);
  if ('artifact' in body) return 'delivered';
  if ('listing_id' in body) return 'listed';
  const intent = body['purchase_intent'] ?? body['fee_intent'];
  return intent === undefined ? 'done' : String((intent as { id: string }).id);
}
