import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { type Hex, toBytes, toHex } from '../../src/platform/hex.ts';
import { audit } from '../audit/audit.ts';
import { type Claiming, claim, type ShownIntent, signChallenge, transfer } from '../support/direct.ts';
import { type Answer, paidUnits, type SignedProof, signProof, type World } from '../support/market-world.ts';
import { FEE_TERMS, GAS_WEI, listGoods, newGoods, PRICE, type Trade } from '../support/trade.ts';

/** Validity of an authorization in seconds. Close to the longest that the market accepts, so that a busy machine has time. */
export const LIFE_SECONDS = 590;

type CourseName = 'purchase' | 'fee' | 'claim';

/** One purchase by one buyer from its own wallet. */
export interface Course {
  name: CourseName;
  payer: TestAccount;
  payee: Hex;
  units: bigint;
  /** Proof that is signed once and sent repeatedly. Null for a claim. */
  proof: SignedProof | null;
  /** Takes the next step, or repeats the last one, as a client does when it is told to send the same request. */
  ask(): Promise<Answer>;
  /** Asks with only the key, like a client that lost its proof. */
  askWithoutProof(): Promise<Answer>;
  delivers(answer: Answer): boolean;
}

type OpenCourse = (trade: Trade) => Promise<Course>;

const { sellerOne, treasury } = WORLD_ACCOUNTS;

async function openPurchase(trade: Trade): Promise<Course> {
  const { world, buyer } = trade;
  const { id, artifact, terms } = await trade.goods();
  const payer = await trade.wallet(PRICE);
  const proof = await signProof(world.chain, payer, { ...terms, secondsAhead: LIFE_SECONDS });
  return {
    ...{ name: 'purchase', payer, payee: sellerOne.address, units: PRICE, proof },
    ask: () => world.buy(id, { key: buyer.key, proof: proof.v2 }),
    askWithoutProof: () => world.buy(id, { key: buyer.key }),
    delivers: ({ body }) => body['artifact'] === artifact,
  };
}

async function openFee(trade: Trade): Promise<Course> {
  const { world, buyer } = trade;
  const body = newGoods();
  const payer = await trade.wallet(LISTING_FEE_UNITS);
  const proof = await signProof(world.chain, payer, { ...FEE_TERMS, secondsAhead: LIFE_SECONDS });
  return {
    ...{ name: 'fee', payer, payee: treasury.address, units: LISTING_FEE_UNITS, proof },
    ask: () => listGoods(world, buyer, body, { proof: proof.v2 }),
    askWithoutProof: () => listGoods(world, buyer, body),
    delivers: (answer) => typeof answer.body['listing_id'] === 'number',
  };
}

async function openClaim(trade: Trade): Promise<Course> {
  const { world, buyer } = trade;
  const { id, artifact } = await trade.goods();
  const payer = await trade.wallet(PRICE, GAS_WEI);
  let claiming: Claiming | null = null;
  const ask = async (): Promise<Answer> => {
    if (claiming === null) {
      await world.chain.mine();
      const answer = await world.ask('POST', `/api/purchase-intent/${id}`, { key: buyer.key, body: {} });
      if (answer.status !== 201 && answer.status !== 200) return answer;
      const intent = answer.body['purchase_intent'] as ShownIntent;
      const signature = await signChallenge(payer, intent);
      claiming = { intent, signature, txHash: await transfer(world, payer, intent.seller_wallet, PRICE) };
    }
    return await claim(world, buyer, id, claiming);
  };
  return {
    ...{ name: 'claim', payer, payee: sellerOne.address, units: PRICE, proof: null },
    ask,
    askWithoutProof: ask,
    delivers: ({ body }) => body['artifact'] === artifact,
  };
}

export const COURSES = { purchase: openPurchase, fee: openFee, claim: openClaim } as const satisfies Record<
  CourseName,
  OpenCourse
>;

/** Faults that the auditor rightly reports, because listings are inserted without a fee or an event. */
const SEEDED = ['a listing without a fee', 'no event tells of this: maintainer_seed'];
/** Statuses that a payer may get. 402 is allowed only while no payment is known. */
const EXPECTED = new Set([200, 201, 202, 402, 503]);
/** Errors that the market may log while it is lied to. Any other error is a bug. */
const ALARMS = new Set([
  'payment_evidence_contradicts',
  'payment_blocked',
  'payments_halted_by_conflict',
  'payments_halted',
  'chain_head_refused',
]);

interface Row {
  id: bigint;
  status: string;
}

/** Checks that must hold at every moment, whatever providers or the facilitator do. Each throws if it fails. */
export interface MoneyWatch {
  /** Sends the request and compares the answer with the ledger. */
  ask(course: Course, how?: 'proof' | 'plain'): Promise<Answer>;
  rowsOf(course: Course): Promise<Row[]>;
  /** Checks that every delivery is final on the real node. */
  mustBeFinal(): Promise<void>;
  /** Checks that the purchase was paid at most once on the chain, delivered at most once, and that both agree. */
  mustHaveEnded(course: Course): Promise<'completed' | 'unpaid'>;
  /** Compares books, chain and log. Call it after everything had time to end. */
  mustAgree(): Promise<void>;
}

export function watchMoney(world: World): MoneyWatch {
  const rowsOf: MoneyWatch['rowsOf'] = ({ payer }) =>
    world.db.database.rows<{ id: bigint; status: string }>(
      sql`select id, status from payments where payer = ${toBytes(payer.address)} order by id`,
    );
  return {
    rowsOf,
    ask: async (course, how = 'proof') => {
      const answer = how === 'proof' ? await course.ask() : await course.askWithoutProof();
      judgeAnswer(course, answer, (await rowsOf(course)).at(-1)?.status ?? null);
      return answer;
    },
    mustBeFinal: () => mustBeFinal(world),
    mustHaveEnded: (course) => mustHaveEnded(world, course, rowsOf(course)),
    mustAgree: async () => {
      const order = { databaseUrl: world.db.url, rpcUrl: world.chain.url, token: USDC_ADDRESS, quiet: true };
      const { faults } = await audit(order);
      expect(faults.filter((fault) => !SEEDED.some((rule) => fault.startsWith(rule)))).toEqual([]);
      expect(world.logLines.filter(({ level, event }) => level === 'error' && !ALARMS.has(event))).toEqual([]);
    },
  };
}

function judgeAnswer(course: Course, answer: Answer, status: string | null): void {
  const { body } = answer;
  const said = `${course.name} (${status ?? 'no row'}): ${answer.status} ${JSON.stringify(body)}`;
  if (!EXPECTED.has(answer.status)) throw new Error(`an unexpected answer: ${said}`);
  const isUndecided = status !== null && status !== 'unpaid';
  // If the payer has a payment that did not end unpaid, the answer must not suggest paying again.
  if (isUndecided && (answer.status === 402 || body['do_not_pay_again'] === false))
    throw new Error(`asked to pay again: ${said}`);
  const isHandedOver = answer.status < 202;
  if (isUndecided && !isHandedOver && body['do_not_pay_again'] !== true) throw new Error(`not told to wait: ${said}`);
  if (isHandedOver !== course.delivers(answer)) throw new Error(`goods and answer differ: ${said}`);
  if (isHandedOver && status !== 'completed') throw new Error(`handed over and not completed: ${said}`);
}

async function mustBeFinal(world: World): Promise<void> {
  const { rpc } = world.chain;
  const rows = await world.db.database.rows<{ id: bigint; number: bigint; hash: Buffer }>(sql`
    select p.id, f.block_number as number, f.block_hash as hash from payments p join payment_proofs f on f.payment_id = p.id
    where p.status = 'completed' and f.purpose <> 'refund' order by p.id desc limit 12`);
  const finalized = await readBlock(rpc, 'finalized');
  for (const { id, number, hash } of rows) {
    const block = await readBlock(rpc, number);
    const isFinal = finalized !== null && number <= finalized.number && block?.hash === toHex(hash);
    if (!isFinal) throw new Error(`payment ${id} is completed by block ${number}, which is not final`);
  }
}

async function mustHaveEnded(world: World, course: Course, reading: Promise<Row[]>): Promise<'completed' | 'unpaid'> {
  const rows = await reading;
  const ids = rows.map(({ id }) => id);
  const paid = await paidUnits(world.chain, course.payer.address, course.payee as Hex);
  const { handed } = await world.db.database.one<{ handed: bigint }>(sql`
    select (select count(*) from purchases where payment_id = any(${ids}::bigint[]))
      + (select count(*) from fees where payment_id = any(${ids}::bigint[])) as handed`);
  const found = { paid, statuses: rows.map(({ status }) => status), handed: Number(handed) };
  if (paid.length === 0) {
    expect(found).toEqual({ paid: [], statuses: ['unpaid'], handed: 0 });
    return 'unpaid';
  }
  expect(found).toEqual({ paid: [course.units], statuses: ['completed'], handed: 1 });
  return 'completed';
}
