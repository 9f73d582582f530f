import { createHash } from 'node:crypto';
import { DOWNLOAD_PATH } from '../../src/contract/uploads.ts';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { findStored } from '../../src/market/goods/object-store.ts';
import { sha256 } from '../../src/platform/canonical-json.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Hex, toHex } from '../../src/platform/hex.ts';
import { BASE_URL, type Member, signProof, type World, type WorldOptions } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { seedUpload } from '../support/seed-upload.ts';
import { type Goods, PRICE, type Trade, testTrade } from '../support/trade.ts';

/** Goods that came as an upload. */
export interface FileGoods extends Omit<Goods, 'artifact'> {
  bytes: Buffer;
  etag: string;
  sha256: Hex;
  uploadId: string;
  objectId: bigint;
}

export interface FileOptions {
  bytes?: Buffer;
  size?: number;
  units?: bigint;
  filename?: string;
  seller?: Member;
}

export interface Asked {
  method?: string;
  key?: string;
  deliveryToken?: string;
  downloadToken?: string;
  range?: string;
  headers?: Record<string, string>;
}

export interface Downloaded {
  status: number;
  headers: Headers;
  bytes: Buffer;
  /** Reason of a refusal. Undefined for goods. */
  reason: unknown;
}

export interface DownloadTrade extends Trade {
  /** Creates a listing of the seller whose goods are a file. */
  file(given?: FileOptions): Promise<FileGoods>;
  download(id: bigint | string, asked?: Asked): Promise<Downloaded>;
  /** Buys with a fresh wallet, and waits until the purchase is final. Returns the wallet. */
  bought(goods: Pick<Goods, 'id' | 'terms'>, by?: { key?: string; token?: string }): Promise<TestAccount>;
}

/** Returns bytes that look random and are the same in each run. */
export function fileOf(seed: string, size: number): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at * 32 < size; at += 1) blocks.push(createHash('sha256').update(`${seed} ${at}`).digest());
  return Buffer.concat(blocks).subarray(0, size);
}

export function downloadTrade(options: WorldOptions = {}): DownloadTrade {
  const trade = testTrade(options);
  const { world, seller, wallet } = trade;
  let made = 0;
  return {
    ...trade,
    file: async (given = {}) => {
      made += 1;
      const bytes = given.bytes ?? fileOf(`file ${made}`, given.size ?? 10_000);
      const owner = given.seller ?? seller;
      const { market } = world.running;
      const { id: uploadId, objectId } = await seedUpload(market, owner.id, { bytes });
      const stored = await findStored(world.db.database, objectId);
      if (stored === null) throw new Error('the seeded upload is not whole');
      const { sellerOne } = WORLD_ACCOUNTS;
      const payTo = given.seller === undefined ? sellerOne.address : toHex(sha256(owner.handle).subarray(0, 20));
      const units = given.units ?? PRICE;
      const { id } = await seedListing(world.db.database, owner.id, {
        ...{ wallet: payTo, priceUnits: units, stored },
        ...(given.filename === undefined ? {} : { filename: given.filename }),
      });
      await world.running.eventsSettled();
      const now = (options.clock ?? systemClock).now;
      const terms = {
        payTo,
        units,
        resource: `${BASE_URL}/api/buy/${id}`,
        get now() {
          return now();
        },
      };
      const etag = `"${toHex(stored.commitment)}"`;
      return { id, bytes, etag, sha256: toHex(stored.sha256), uploadId, objectId, terms };
    },
    download: (id, asked) => downloadFrom(world, `${DOWNLOAD_PATH}/${id}`, asked),
    bought: async ({ id, terms }, by = {}) => {
      const payer = await wallet();
      const proof = await signProof(world.chain, payer, terms);
      const opened = await world.buy(id, {
        proof: proof.v2,
        ...(by.key === undefined ? {} : { key: by.key }),
        ...(by.token === undefined ? {} : { headers: { 'x-delivery-token': by.token } }),
      });
      if (opened.status !== 202)
        throw new Error(`the purchase was answered ${opened.status}: ${opened.body['detail']}`);
      await world.finalize();
      await world.running.payments.reconcileOnce();
      return payer;
    },
  };
}

export async function downloadFrom(world: World, path: string, asked: Asked = {}): Promise<Downloaded> {
  const headers: Record<string, string> = { ...asked.headers };
  if (asked.key !== undefined) headers['authorization'] = `Bearer ${asked.key}`;
  if (asked.deliveryToken !== undefined) headers['x-delivery-token'] = asked.deliveryToken;
  if (asked.downloadToken !== undefined) headers['x-download-token'] = asked.downloadToken;
  if (asked.range !== undefined) headers['range'] = asked.range;
  const response = await fetch(`${world.url}${path}`, { method: asked.method ?? 'GET', headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isProblem = response.headers.get('content-type') === 'application/problem+json' && bytes.length > 0;
  const reason = isProblem ? (JSON.parse(bytes.toString('utf8')) as { reason: unknown }).reason : undefined;
  return { status: response.status, headers: response.headers, bytes, reason };
}
