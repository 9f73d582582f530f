import type { Arrival } from './incoming.ts';
import type { Books, ClaimedHash, PaymentLine, ThingLine } from './read-books.ts';
import {
  AUTHORIZATION_USED,
  authorizationsIn,
  type Chain,
  type Moved,
  madeBy,
  movesOf,
  topicOf,
} from './read-chain.ts';

export interface Scene {
  books: Books;
  chain: Chain;
  token: string;
}

const nameOf = (line: PaymentLine): string => `payment ${line.id} (${line.path} ${line.purpose}, ${line.status})`;
const isOpen = (line: PaymentLine): boolean => line.status === 'verifying' || line.status === 'settling';
/** Whether the payee has received the money, however the payment ended. */
const isBooked = (line: PaymentLine): boolean => ['completed', 'needs_review', 'rejected'].includes(line.status);
/** Whether the payment has no proof of its own, because it is the second one in its transaction. */
const isSecond = (line: PaymentLine): boolean => line.end_reason === 'transaction_used';

/** Checks that sales, proof and end of a payment match its status. */
export function faultsOfLine(line: PaymentLine, sales: number, quiet: boolean): string[] {
  const name = nameOf(line);
  const faults: string[] = [];
  if (quiet && isOpen(line)) faults.push(`${name} has not ended`);
  const completed = line.status === 'completed';
  const sold = completed && line.purpose === 'purchase' && !line.surplus ? '1' : '0';
  const paid = completed && line.purpose === 'listing_fee' ? '1' : '0';
  if (line.purchases !== sold) faults.push(`${name} has ${line.purchases} purchases`);
  if (String(sales) !== sold) faults.push(`${name} has ${sales} events of a sale`);
  if (line.fees !== paid) faults.push(`${name} has ${line.fees} lines in the books of the treasury`);
  if (isBooked(line) !== (line.proof_hash !== null) && !isSecond(line)) {
    faults.push(`${name} ${line.proof_hash === null ? 'has no proof' : 'has a proof'}`);
  }
  if ((line.review_outcome === 'refunded') !== (line.refund_hash !== null))
    faults.push(`${name}: its refund is not as decided`);
  if (line.status === 'rejected' && line.review_outcome === null) faults.push(`${name} was rejected without a review`);
  return faults;
}

export async function faultsOfPayment(scene: Scene, line: PaymentLine): Promise<string[]> {
  return [
    ...(line.proof_hash === null
      ? await faultsOfSecond(scene, line)
      : await faultsOfProof(scene, line, line.proof_hash)),
    ...(line.refund_hash === null ? [] : await faultsOfRefund(scene, line, line.refund_hash)),
    ...(await faultsOfSpent(scene, line)),
  ];
}

/** Checks that the proof is a final transfer that fits the payment. After a review by a person it may differ in some ways. */
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
  if (height > chain.final.number) faults.push(`${name} is proven by block ${height}, which is not final`);
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
 * Checks a payment that has no proof, because it is the second one in its transaction. It may be delivered only if its authorization made a
 * transfer that proves no other payment.
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
  time: number;
}

/** Compares the transfer with the request. After a review only payer and payee must match. */
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
  if (height > chain.final.number || (await chain.block(height))?.hash !== receipt.blockHash)
    faults.push(`${name} is not final`);
  if (line.proof_number !== null && height <= Number(line.proof_number)) faults.push(`${name} came before the payment`);
  return faults;
}

/** Checks that an authorization that was used in a final block and moved its money is booked or pending. */
async function faultsOfSpent({ chain, token }: Scene, line: PaymentLine): Promise<string[]> {
  if (line.nonce === null || isOpen(line) || isBooked(line) || !(await chain.isSpent(line.payer, line.nonce)))
    return [];
  const topics = [AUTHORIZATION_USED, topicOf(line.payer), line.nonce];
  for await (const log of chain.logs(topics, Number(line.opened_block ?? 0), chain.final.number)) {
    const receipt = await chain.receipt(log.transactionHash);
    const made = receipt && madeBy(receipt, token, line);
    if (made?.to === line.payee && made.units === BigInt(line.value_units))
      return [`${nameOf(line)} was paid by ${log.transactionHash}`];
  }
  return [];
}

/** Checks that the proof is a final transfer of at least the price, from the paying wallet to the one in the listing. */
export async function faultsOfThing(
  { chain, token }: { chain: Chain; token: string },
  line: ThingLine,
): Promise<string[]> {
  const name = `purchase ${line.id} of the thing of listing ${line.listing_id}`;
  const receipt = await chain.receipt(line.proof_hash);
  if (receipt === null || receipt.status !== '0x1') {
    return [`${name} is proven by ${line.proof_hash}, which the chain does not have`];
  }
  const height = Number(receipt.blockNumber);
  const block = await chain.block(height);
  const faults: string[] = [];
  if (block?.hash !== receipt.blockHash || line.proof_block !== block.hash || Number(line.proof_number) !== height) {
    faults.push(`${name} is proven by a block that is not in the chain`);
  }
  if (height > chain.final.number) faults.push(`${name} is proven by block ${height}, which is not final`);
  const moved = movesOf(receipt, token).find(({ logIndex }) => logIndex === line.proof_log);
  if (moved?.from !== line.payer || moved.to !== line.payee || moved.units.toString() !== line.proof_units) {
    return [...faults, `${name} is proven by a transaction without its transfer`];
  }
  return moved.units < BigInt(line.price_units) ? [...faults, `${name}: too little was paid`] : faults;
}

/** Largest allowed difference between the market's clock and the chain's time. */
const SKEW_MS = 30_000;

/** Whether the transaction was mined after the window and the claim had ended. It can be claimed again, so it is not a fault. */
async function cameAfterAll(chain: Chain, line: PaymentLine, height: number): Promise<boolean> {
  const second = Number((await chain.block(height))?.timestamp ?? 0);
  return second >= (line.window_to ?? Infinity) && second * 1000 >= (line.ended_at ?? Infinity) - SKEW_MS;
}

/** Checks that every final transaction that was claimed and moved the payer's money to the payee is the proof of something. */
export function createClaimsCheck({ books, chain, token }: Scene): (claim: ClaimedHash) => Promise<string[]> {
  const lines = new Map(books.payments.map((line) => [line.id, line]));
  const proven = new Set(books.payments.flatMap((line) => [line.proof_hash, line.refund_hash]));
  const ledger = new Set(books.payments.map((line) => `${line.payer} ${line.nonce}`));
  return async ({ payment_id, tx_hash, refused_reason }) => {
    const line = lines.get(payment_id);
    // The hash was submitted while the payee was deciding. It can be claimed again later. Once the payee has delivered, the market examines
    // it by itself.
    if (refused_reason === 'payment_undecided' && line?.status !== 'completed') return [];
    const receipt = await chain.receipt(tx_hash);
    if (line === undefined || receipt === null || Number(receipt.blockNumber) > chain.final.number) return [];
    const pays = movesOf(receipt, token).some(
      ({ from, to, units }) => from === line.payer && to === line.payee && units > 0n,
    );
    const isOther = authorizationsIn(receipt.logs, token).some((use) => ledger.has(use));
    // A surplus transfer, besides the one that ended the claim, has a record of its own too, so it is among `proven`.
    if (!pays || isOther || proven.has(tx_hash) || isOpen(line)) return [];
    if (await cameAfterAll(chain, line, Number(receipt.blockNumber))) return [];
    return [`${nameOf(line)} ended ${line.status}, and ${tx_hash} paid for it`];
  };
}

/** Returns a check whether the books know a transfer: as a proof, as a refund, as seen by a payment, or as pending. */
export function createBookedBy({ books, chain, token }: Scene): (arrival: Arrival) => Promise<boolean> {
  const proven = new Set(books.proofs.map(({ tx_hash, log_index }) => `${tx_hash} ${log_index ?? 'all'}`));
  const living = new Set(books.payments.filter((line) => isOpen(line) || isBooked(line)).map(({ id }) => id));
  const claimed = new Set(books.claimed.filter((one) => living.has(one.payment_id)).map(({ tx_hash }) => tx_hash));
  const open = books.payments.filter(isOpen);
  const expected = new Set(open.map(({ payer, payee }) => `${payer} ${payee}`));
  const nonces = new Set(open.map(({ payer, nonce }) => `${payer} ${nonce}`));
  return async ({ txHash, logIndex, from, to }) => {
    if (proven.has(`${txHash} ${logIndex}`) || proven.has(`${txHash} all`) || claimed.has(txHash)) return true;
    // The chain already has the transfer, but the market may not have seen it yet.
    if (!expected.has(`${from} ${to}`)) return false;
    const receipt = await chain.receipt(txHash);
    return authorizationsIn(receipt?.logs ?? [], token).some((use) => nonces.has(use));
  };
}
