import { connectClient } from '../../src/platform/database/connection.ts';
import { copyFile, withCopyFolder, writeRows } from '../catalog/copy-rows.ts';
import { countRows } from '../catalog/count-rows.ts';
import type { Goods } from '../catalog/goods.ts';
import { LISTING_COLUMNS, listingLine } from '../catalog/listing-line.ts';
import { copyMerchants, seedArtifacts } from '../catalog/seed-around.ts';
import { makeHandles } from './merchant-handles.ts';
import type { Item } from './read-corpus.ts';

const PRICE_UNITS = 1_000_000;

/** An item with the handle of its merchant. The listing's id is its place in the list, from 1. */
export interface Listed extends Item {
  merchant: string;
}

/** Gives each item the handle of its owner. */
export function assignMerchants(items: readonly Item[]): Listed[] {
  const handles = makeHandles(items.map(({ owner }) => owner));
  return items.map((item) => ({ ...item, merchant: handles.get(item.owner) ?? '' }));
}

/** Fills an empty market with one listing for each item, all live and at the same price. */
export async function seedCorpus(url: string, items: readonly Listed[]): Promise<void> {
  const merchants = [...new Set(items.map(({ merchant }) => merchant))];
  const sellers = new Map(merchants.map((handle, index) => [handle, index + 1]));
  const lines = items.map((item, index) =>
    listingLine(goodsOf(item, index + 1, sellers.get(item.merchant) ?? 0), { listings: items.length }),
  );
  const client = await connectClient({ url, applicationName: 'openaisle-bench-seed', statementTimeoutMs: 0 });
  try {
    // Disable triggers and foreign keys for this session, because the rows are correct by construction.
    await client.query('set session_replication_role = replica');
    await client.query('begin');
    await copyMerchants(
      client,
      merchants.map((handle) => ({ handle, line: '' })),
    );
    await withCopyFolder(async (folder) => {
      const rows = await writeRows(folder, 'listings', lines);
      await copyFile(client, { table: 'listings', columns: LISTING_COLUMNS }, rows);
    });
    await seedArtifacts(client);
    await countRows(client);
    await client.query('commit');
    await client.query('vacuum (analyze)');
  } finally {
    await client.end();
  }
}

function goodsOf({ title, description, preview, tags }: Item, id: number, seller: number): Goods {
  const texts = { title, description, preview, tags: [...tags] };
  return { id, seller, ...texts, priceUnits: PRICE_UNITS, aisle: 'skills', state: 'live', votes: 0, sales: 0 };
}
