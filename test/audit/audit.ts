import { faultsOfThing } from './faults-of-thing.ts';
import { type Books, type PaymentLine, readBooks } from './read-books.ts';
import {
  AUTHORIZATION_USED,
  authorizationsIn,
  type Chain,
  type Moved,
  madeBy,
  movesOf,
  openChain,
  walletOf,
} from './read-chain.ts';

export interface AuditOrder {
  databaseUrl: string;
  rpcUrl: string;
  /** The address of USDC. */
  token: string;
  /** Everything has had the time to end: what is still open is a fault. */
  quiet?: boolean;
}

export interface Audit {
  payments: number;
  proofs: number;
  /** In words; none: books and chain agree. */
  faults: string[];
}

/**
 * Whether the books say what the chain says: no delivery without its final transfer, no transaction for two things, and for every final
 * transfer that pays for something here a delivery, a payment under way or a review. Reads SQL and logs; knows nothing of how
 * the market decides, and shares no code with it.
 */
export async function audit(order: AuditOrder): Promise<Audit> {
  const token = order.token.toLowerCase();
  const books = await readBooks(order.databaseUrl);
  const chain = await openChain(order.rpcUrl, token);
  const scene: Scene = { books, chain, token };
  const faults = [...books.broken];
  const ofPayments = books.payments.map(async (line) => [
    ...faultsOfState(line, order.quiet ?? false),
    ...(line.proof_hash === null
      ? await faultsOfSecond(scene, line)
      : await faultsOfProof(scene, line, line.proof_hash)),
    ...(line.refund_hash === null ? [] : await faultsOfRefund(scene, line, line.refund_hash)),
  ]);
  faults.push(...(await Promise.all(ofPayments)).flat());
  faults.push(...(await faultsOfAuthorizations(scene)), ...(await faultsOfClaims(scene)));
  faults.push(...(await Promise.all(books.things.map((line) => faultsOfThing(scene, line)))).flat());
  const proofs = books.payments.filter((line) => line.proof_hash !== null).length + books.things.length;
  return { payments: books.payments.length, proofs, faults };
}

interface Scene {
  books: Books;
  chain: Chain;
  token: string;
}

const nameOf = (line: PaymentLine): string => `payment ${line.id} (${line.path} ${line.purpose}, ${line.status})`;
const isOpen = (line: PaymentLine): boolean => line.status === 'verifying' || line.status === 'settling';
/** The payee has the money, whatever was made of it. */
const isBooked = (line: PaymentLine): boolean => ['completed', 'needs_review', 'rejected'].includes(line.status);
/** The second of two payments in one transaction has no proof of its own. */
const isSecond = (line: PaymentLine): boolean => line.end_reason === 'transaction_used';

/** What a payment amounts to is what its state says. */
function faultsOfState(line: PaymentLine, quiet: boolean): string[] {
  const name = nameOf(line);
  const faults: string[] = [];
  if (quiet && isOpen(line)) faults.push(`${name} has not ended`);
  const completed = line.status === 'completed';
  const sold = completed && line.purpose === 'purchase' && !line.surplus ? '1' : '0';
  const paid = completed && line.purpose === 'listing_fee' ? '1' : '0';
  if (line.purchases !== sold) faults.push(`${name} has ${line.purchases} purchases`);
  if (line.sales !== sold) faults.push(`${name} has ${line.sales} events of a sale`);
  if (line.fees !== paid) faults.push(`${name} has ${line.fees} lines in the books of the treasury`);
  if (isBooked(line) !== (line.proof_hash !== null) && !isSecond(line)) {
    faults.push(`${name} ${line.proof_hash === null ? 'has no proof' : 'has a proof'}`);
  }
  if ((line.review_outcome === 'refunded') !== (line.refund_hash !== null))
    faults.push(`${name}: its refund is not as decided`);
  if (line.status === 'rejected' && line.review_outcome === null) faults.push(`${name} was rejected by nobody`);
  return faults;
}

/** The proof is a final transfer of the chain that fits what was asked for; unless a person had to decide, in every way. */
async function faultsOfProof({ chain, token }: Scene, line: PaymentLine, hash: string): Promise<string[]> {
  const name = nameOf(line);
  const receipt = await chain.receipt(hash);
  if (receipt === null || receipt.status !== '0x1')
    return [`${name} is proven by ${hash}, which the chain does not have`];
  const height = Number(receipt.blockNumber);
  const block = await chain.block(height);
  const faults: string[] = [];
  if (
    block?.hash !== receipt.blockHash ||
    line.proof_block !== receipt.blockHash ||
    Number(line.proof_number) !== height
  ) {
    faults.push(`${name} is proven by a block that is not in the chain`);
  }
  if (height > chain.finalNumber) faults.push(`${name} is proven by block ${height}, which is not final`);
  const moved = movesOf(receipt, token).find(({ logIndex }) => logIndex === line.proof_log);
  if (moved?.from !== line.payer || moved.to !== line.payee || moved.units.toString() !== line.proof_units) {
    return [...faults, `${name} is proven by a transaction without its transfer`];
  }
  const uses = authorizationsIn(receipt.logs, token);
  const time = Number(block?.timestamp ?? 0);
  const made = madeBy(receipt, token, line);
  return [...faults, ...faultsOfTransfer(line, { units: moved.units, uses, made, time })];
}

/**
 * The second of two payments in one transaction has no proof. Goods were handed out on it only if its own authorization made a
 * transfer, and that is no other payment's.
 */
async function faultsOfSecond({ books, chain, token }: Scene, line: PaymentLine): Promise<string[]> {
  if (line.status !== 'completed' || !isSecond(line) || line.tx_hash === null) return [];
  const receipt = await chain.receipt(line.tx_hash);
  const made = receipt?.status === '0x1' ? madeBy(receipt, token, line) : null;
  const name = nameOf(line);
  if (made?.to !== line.payee || made.units !== BigInt(line.value_units)) return [`${name} has no transfer of its own`];
  const isTaken = [...books.payments, ...books.things].some(
    (other) => other.proof_hash === line.tx_hash && other.proof_log === made.logIndex,
  );
  return isTaken ? [`${name} shares its transfer with another`] : [];
}

interface Paid {
  units: bigint;
  uses: string[];
  made: Moved | null;
  /** Seconds. */
  time: number;
}

/** Whether the transfer is what was asked for. One that a person decided on need not be, but for whose it is. */
function faultsOfTransfer(line: PaymentLine, paid: Paid): string[] {
  const name = nameOf(line);
  const { units, uses, made, time } = paid;
  const asked = BigInt(line.value_units);
  const faults: string[] = [];
  if (line.path === 'x402' && !uses.includes(`${line.payer} ${line.nonce}`))
    faults.push(`${name}: not by its authorization`);
  else if (line.path === 'x402' && made?.logIndex !== line.proof_log)
    faults.push(`${name}: by a transfer that its authorization did not make`);
  if (line.end_reason !== null) return faults;
  if (line.path === 'x402' && units !== asked) faults.push(`${name}: not the exact amount`);
  if (line.removed_at !== null && time * 1000 >= line.removed_at) faults.push(`${name} was paid after the removal`);
  if (line.path === 'x402') return faults;
  if (units < asked) faults.push(`${name}: too little was paid`);
  if (uses.some((use) => use.startsWith(line.payer))) faults.push(`${name} was paid through an authorization`);
  const inWindow = time >= (line.window_from ?? 0) && time < (line.window_to ?? 0);
  return inWindow ? faults : [...faults, `${name} was paid outside its window`];
}

async function faultsOfRefund({ chain, token }: Scene, line: PaymentLine, hash: string): Promise<string[]> {
  const name = `the refund of ${nameOf(line)}`;
  const receipt = await chain.receipt(hash);
  if (receipt === null || receipt.status !== '0x1') return [`${name} is not in the chain`];
  const height = Number(receipt.blockNumber);
  const back = movesOf(receipt, token).some(
    ({ from, to, units }) =>
      from === line.payee && to === line.payer && units >= BigInt(line.proof_units ?? line.value_units),
  );
  const faults = back ? [] : [`${name} gave nothing back`];
  if (height > chain.finalNumber || (await chain.block(height))?.hash !== receipt.blockHash)
    faults.push(`${name} is not final`);
  if (line.proof_number !== null && height <= Number(line.proof_number)) faults.push(`${name} came before the payment`);
  return faults;
}

/** Every authorization of the ledger that was used for good and moved its money is booked or under way. */
async function faultsOfAuthorizations({ books, chain, token }: Scene): Promise<string[]> {
  const lines = new Map(
    books.payments.flatMap((line) => (line.nonce === null ? [] : [[`${line.payer} ${line.nonce}`, line]])),
  );
  const faults: string[] = [];
  for (const log of await chain.finalLogs(AUTHORIZATION_USED)) {
    const line = lines.get(`${walletOf(log.topics[1])} ${log.topics[2]}`);
    if (line === undefined || isOpen(line) || isBooked(line)) continue;
    const receipt = await chain.receipt(log.transactionHash);
    const made = receipt && madeBy(receipt, token, line);
    if (made?.to === line.payee && made.units === BigInt(line.value_units))
      faults.push(`${nameOf(line)} was paid by ${log.transactionHash}`);
  }
  return faults;
}

/** Clock of the market and time of the chain differ that much at most, in milliseconds. */
const SKEW_MS = 30_000;

/** Nobody had mined it when the window was over and the claim ended (W8): then it can be claimed anew, and is nobody's fault. */
async function cameAfterAll(chain: Chain, line: PaymentLine, height: number): Promise<boolean> {
  const second = Number((await chain.block(height))?.timestamp ?? 0);
  return second >= (line.window_to ?? Infinity) && second * 1000 >= (line.ended_at ?? Infinity) - SKEW_MS;
}

/** Every final transaction that somebody claimed and that moved the payer's money to the payee proves something. */
async function faultsOfClaims({ books, chain, token }: Scene): Promise<string[]> {
  const lines = new Map(books.payments.map((line) => [line.id, line]));
  const proven = new Set(books.payments.flatMap((line) => [line.proof_hash, line.refund_hash]));
  const ledger = new Set(books.payments.map((line) => `${line.payer} ${line.nonce}`));
  const ofClaims = books.claimed.map(async ({ payment_id, tx_hash }) => {
    const line = lines.get(payment_id);
    const receipt = await chain.receipt(tx_hash);
    if (line === undefined || receipt === null || Number(receipt.blockNumber) > chain.finalNumber) return [];
    const pays = movesOf(receipt, token).some(
      ({ from, to, units }) => from === line.payer && to === line.payee && units > 0n,
    );
    const isOther = authorizationsIn(receipt.logs, token).some((use) => ledger.has(use));
    // Also what came beside the transfer that ended the claim has a record of its own.
    if (!pays || isOther || proven.has(tx_hash) || isOpen(line)) return [];
    if (await cameAfterAll(chain, line, Number(receipt.blockNumber))) return [];
    return [`${nameOf(line)} ended ${line.status}, and ${tx_hash} paid for it`];
  });
  return (await Promise.all(ofClaims)).flat();
}
