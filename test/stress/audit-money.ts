import sql from 'sql-template-tag';
import { USDC_ADDRESS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { readBlock, readLogs, readReceipt } from '../../src/platform/chain/reads.ts';
import { AUTHORIZATION_USED_TOPIC, decodeAuthorizationUsed, decodeTransfer } from '../../src/platform/chain/usdc.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { type Hex, toHex } from '../../src/platform/hex.ts';

interface Row {
  id: bigint;
  status: string;
  purpose: string;
  listing_id: bigint | null;
  merchant_id: bigint | null;
  payer: Buffer;
  payee: Buffer;
  nonce: Buffer;
  value_units: bigint;
  proof_hash: Buffer | null;
  proof_block: Buffer | null;
  purchases: bigint;
  fees: bigint;
  sales: bigint;
}

/** What the chain says was paid against what the books say: every difference, in words. Knows nothing of how the market decides. */
export async function auditMoney(chain: LocalChain, database: Database): Promise<{ used: number; faults: string[] }> {
  const rows = await readBooks(database);
  const uses = await readUses(chain);
  const faults = [
    ...(await Promise.all(rows.map((row) => faultsOfRow(chain, row, uses)))).flat(),
    ...faultsOfUses(uses, rows),
    ...paidTwice(rows),
    ...(await faultsOfEvents(database)),
    ...(await faultsOfFees(database)),
  ];
  return { used: uses.size, faults };
}

async function readBooks(database: Database): Promise<Row[]> {
  return await database.rows<Row>(sql`
    select p.id, p.status, p.purpose, p.listing_id, p.merchant_id, p.payer, p.payee, p.nonce, p.value_units,
      f.tx_hash as proof_hash, f.block_hash as proof_block,
      (select count(*) from purchases b where b.payment_id = p.id) as purchases,
      (select count(*) from fees b where b.payment_id = p.id) as fees,
      (select count(*) from events e where e.kind = 'sale'
        and (convert_from(e.canonical, 'UTF8')::jsonb -> 'detail' ->> 'payment_id')::bigint = p.id) as sales
    from payments p left join payment_proofs f on f.payment_id = p.id order by p.id`);
}

/** By payer and nonce: the transaction that used it. */
async function readUses(chain: LocalChain): Promise<Map<string, Hex>> {
  const logs = await readLogs(chain.rpc, { address: USDC_ADDRESS, topics: [AUTHORIZATION_USED_TOPIC], fromBlock: 0n });
  const uses = new Map<string, Hex>();
  for (const log of logs) {
    const event = decodeAuthorizationUsed(log);
    if (event !== null) uses.set(`${event.authorizer} ${event.nonce}`, log.transactionHash);
  }
  return uses;
}

const keyOf = (row: Row): string => `${toHex(row.payer)} ${toHex(row.nonce)}`;
const holdsMoney = (row: Row): boolean => row.status === 'completed' || row.status === 'needs_review';

async function faultsOfRow(chain: LocalChain, row: Row, uses: ReadonlyMap<string, Hex>): Promise<string[]> {
  const name = `payment ${row.id} (${row.status})`;
  const used = uses.get(keyOf(row));
  const faults: string[] = [];
  if (row.status === 'verifying' || row.status === 'settling') faults.push(`${name} has not ended`);
  if (row.status === 'unpaid' && used !== undefined) faults.push(`${name} was paid by ${used}`);
  if (!holdsMoney(row)) return row.proof_hash === null ? faults : [...faults, `${name} has a proof`];
  if (used === undefined) return [...faults, `${name} was never paid`];
  const isSale = row.status === 'completed' && row.purpose === 'purchase' ? 1n : 0n;
  const isFee = row.status === 'completed' && row.purpose === 'listing_fee' ? 1n : 0n;
  if (row.purchases !== isSale || row.sales !== isSale) {
    faults.push(`${name} has ${row.purchases} purchases and ${row.sales} events of a sale`);
  }
  if (row.fees !== isFee) faults.push(`${name} has ${row.fees} lines in the books of the treasury`);
  if (row.proof_hash === null || row.proof_block === null) return [...faults, `${name} has no proof`];
  return [...faults, ...(await faultsOfProof(chain, row, used, toHex(row.proof_hash), toHex(row.proof_block)))];
}

async function faultsOfProof(chain: LocalChain, row: Row, used: Hex, hash: Hex, block: Hex): Promise<string[]> {
  const name = `payment ${row.id}`;
  if (hash !== used) return [`${name} is proven by ${hash}, and was paid by ${used}`];
  const receipt = await readReceipt(chain.rpc, hash);
  const canonical = receipt && (await readBlock(chain.rpc, receipt.blockNumber));
  if (canonical?.hash !== block) return [`${name} is proven by a block that is not in the chain`];
  const fits = receipt?.logs.some((log) => {
    const transfer = log.address === USDC_ADDRESS ? decodeTransfer(log) : null;
    return (
      transfer?.from === toHex(row.payer) && transfer.to === toHex(row.payee) && transfer.value === row.value_units
    );
  });
  return fits ? [] : [`${name} is proven by a transaction without its transfer`];
}

/** Money that left a wallet and is in no book. */
function faultsOfUses(uses: ReadonlyMap<string, Hex>, rows: readonly Row[]): string[] {
  const booked = new Set(rows.filter(holdsMoney).map(keyOf));
  return [...uses]
    .filter(([key]) => !booked.has(key))
    .map(([key, hash]) => `${key} was paid by ${hash} and is in no book`);
}

function paidTwice(rows: readonly Row[]): string[] {
  const payers = rows.filter((row) => holdsMoney(row) && row.listing_id !== null);
  const groups = [
    ...Map.groupBy(payers, (row) => `listing ${row.listing_id} and payer ${toHex(row.payer)}`),
    ...Map.groupBy(
      payers.filter((row) => row.merchant_id !== null),
      (row) => `listing ${row.listing_id} and merchant ${row.merchant_id}`,
    ),
  ];
  return groups.filter(([, paid]) => paid.length > 1).map(([name, paid]) => `${name}: paid ${paid.length} times`);
}

async function faultsOfEvents(database: Database): Promise<string[]> {
  const { events, last, sales, purchases } = await database.one<Record<string, bigint>>(sql`
    select (select count(*) from events) as events, (select coalesce(max(id), 0) from events) as last,
      (select count(*) from events where kind = 'sale') as sales, (select count(*) from purchases) as purchases`);
  return [
    ...(events === last ? [] : [`${events} events, and the last has the number ${last}`]),
    ...(sales === purchases ? [] : [`${sales} events of a sale and ${purchases} purchases`]),
  ];
}

/** Every fee is in the running total; every listing that was not seeded has a fee of its own and an event. */
async function faultsOfFees(database: Database): Promise<string[]> {
  const row = await database.one<Record<string, bigint>>(sql`
    select (select coalesce(sum(amount_units), 0)::bigint from fees) as sum,
      (select coalesce(max(running_units), 0) from fees) as running,
      (select count(*) from listings where fee_id is not null) as listed,
      (select count(*) from events where kind = 'listing') as told,
      (select count(*) from pending_listings b join payments p on p.id = b.payment_id
        where p.status not in ('verifying', 'settling')) as forgotten`);
  return [
    ...(row['sum'] === row['running']
      ? []
      : [`the fees are ${row['sum']} units, the running total is ${row['running']}`]),
    ...(row['listed'] === row['told'] ? [] : [`${row['listed']} paid listings and ${row['told']} events of a listing`]),
    ...(row['forgotten'] === 0n ? [] : [`${row['forgotten']} bodies are kept of fees that have ended`]),
  ];
}
