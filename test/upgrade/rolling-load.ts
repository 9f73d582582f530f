import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { type Answer, type AskOptions, BASE_URL, joinMarket, type Member, signProof } from '../support/market-world.ts';
import { newGoods } from '../support/trade.ts';
import type { UpgradedMarket } from './market-of.ts';
import type { UpgradeStage } from './stage.ts';

/** A process of the market behind a proxy, which forwards requests only to active places. */
export interface Place {
  market: UpgradedMarket;
  takesPart: boolean;
  killed: boolean;
  /** Number of forwarded requests that have no answer yet. */
  inFlight: number;
}

/** Kills the process with SIGKILL under load. Requests in flight get no answer. */
export async function killPlace(place: Place): Promise<void> {
  place.killed = true;
  place.takesPart = false;
  await place.market.kill();
}

interface Counts {
  /** Missing or unexpected answers. Excludes requests in flight when their process was killed. */
  failures: string[];
  /** Number of requests without an answer because their process was killed. */
  cutOff: number;
  reads: number;
  /** Number of completed purchases and fees. */
  sold: number;
}

export interface Load {
  counts: Readonly<Counts>;
  /** Starts no new trades. Resolves once everybody has received what they paid for. */
  end(): Promise<void>;
}

interface Scene {
  stage: UpgradeStage;
  counts: Counts;
  isOn: () => boolean;
  /** Sends a request. Resolves with null if its process was killed meanwhile. */
  ask(method: string, path: string, asked?: AskOptions): Promise<Answer | null>;
}

const READS = ['/api/shelves', '/api/listing/1', '/api/official', '/api/store/the-keeper', '/api/events', '/readyz'];
const READERS = 2;
const BUYERS = 2;
const LISTINGS = 12;
const PRICE = 2_500_000n;

/** Simulates people who constantly read, buy by x402 and pay listing fees at active places. `keeper` lists for free. */
export async function startLoad(stage: UpgradeStage, places: readonly Place[], keeper: Member): Promise<Load> {
  const counts: Counts = { failures: [], cutOff: 0, reads: 0, sold: 0 };
  let isOn = true;
  const scene: Scene = { stage, counts, isOn: () => isOn, ask: askBehindProxy(places, counts) };
  for (let listing = 1; listing <= LISTINGS; listing += 1) {
    const body = newGoods({ artifact: artifactOf(listing), title: `Rolling goods ${listing}` });
    const listed = await scene.ask('POST', '/api/listing', { key: keeper.key, body });
    if (listed?.body['listing_id'] !== listing) throw new Error(JSON.stringify(listed?.body));
  }
  const people = [
    ...Array.from({ length: READERS }, (_, nth) => read(scene, nth)),
    ...Array.from({ length: BUYERS }, (_, nth) => trade(scene, nth)),
  ].map((one) => one.catch((error: unknown) => void counts.failures.push(String(error))));
  return {
    counts,
    end: async () => {
      isOn = false;
      await Promise.all(people);
    },
  };
}

const artifactOf = (listing: number): string => `rolling goods, number ${listing}`;

/** Sends requests to active places in turn. */
function askBehindProxy(places: readonly Place[], counts: Counts): Scene['ask'] {
  let turn = 0;
  return async (method, path, asked) => {
    const open = places.filter(({ takesPart }) => takesPart);
    turn += 1;
    const place = open[turn % open.length];
    if (place === undefined) throw new Error('no process takes part');
    place.inFlight += 1;
    try {
      return await place.market.ask(method, path, asked);
    } catch (error) {
      if (place.killed) counts.cutOff += 1;
      else counts.failures.push(`${method} ${path}: ${error instanceof Error ? `${error} ${error.cause}` : error}`);
      return null;
    } finally {
      place.inFlight -= 1;
    }
  };
}

async function read({ ask, counts, isOn }: Scene, nth: number): Promise<void> {
  for (let n = nth; isOn(); n += 1) {
    const path = READS[n % READS.length] ?? '/api/shelves';
    const answer = await ask('GET', path);
    if (answer !== null && answer.status !== 200) counts.failures.push(`GET ${path}: ${answer.status}`);
    counts.reads += 1;
  }
}

/** Lets each member in turn buy everything there is and then list something. */
async function trade(scene: Scene, nth: number): Promise<void> {
  const { chain, db } = scene.stage;
  for (let n = 0; scene.isOn(); n += 1) {
    const [name, payer] = [`rolling-${nth}-${n}`, testAccount(`rolling ${nth} ${n}`)];
    await fund(chain, [{ address: payer.address, usdcUnits: 100_000_000n }]);
    const member = await joinMarket(db, name);
    for (let listing = 1; listing <= LISTINGS && scene.isOn(); listing += 1) await buy(scene, member, payer, listing);
    const body = newGoods({ artifact: `goods of ${name}`, title: `Goods of ${name}` });
    await pay(scene, '/api/listing', { member, payer, to: 'treasury', units: LISTING_FEE_UNITS, body });
  }
}

async function buy(scene: Scene, member: Member, payer: TestAccount, listing: number): Promise<void> {
  const path = `/api/buy/${listing}`;
  const answer = await pay(scene, path, { member, payer, to: 'sellerOne', units: PRICE });
  if (answer.body['artifact'] !== artifactOf(listing)) throw new Error(`${path} delivered ${answer.body['artifact']}`);
}

interface Payment {
  member: Member;
  payer: TestAccount;
  to: 'treasury' | 'sellerOne';
  units: bigint;
  body?: object;
}

/** Repeats the same request with the same proof until it succeeds, as clients do. */
async function pay(scene: Scene, path: string, { member, payer, to, units, body }: Payment): Promise<Answer> {
  const { counts, stage } = scene;
  const terms = { payTo: WORLD_ACCOUNTS[to].address, units, resource: BASE_URL + path };
  const proof = (await signProof(stage.chain, payer, terms)).v2;
  let wasCutOff = false;
  for (;;) {
    const answer = await scene.ask('POST', path, { key: member.key, proof, ...(body === undefined ? {} : { body }) });
    wasCutOff ||= answer === null;
    if (answer?.status === 200 || answer?.status === 201) {
      counts.sold += 1;
      return answer;
    }
    if (answer !== null && answer.status !== 202) {
      const said = `POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`;
      // Retry a 503, which asks for this but still counts as a failure. Other errors are final.
      if (answer.status !== 503) throw new Error(said);
      // A killed process may have submitted this payment, and nobody knows until the chain shows it.
      if (!wasCutOff || answer.body['reason'] !== 'settlement_pending') counts.failures.push(said);
    }
    await stage.chain.mine(6);
  }
}
