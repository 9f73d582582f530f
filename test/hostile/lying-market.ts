import { recordEvent } from '../../src/market/events/record-event.ts';
import { auditMarket } from '../audit/public/audit-market.ts';
import { runAudit } from '../audit/run-audit.ts';
import { type AuditedWorld, startAuditedWorld } from '../support/audited-world.ts';
import { type SiteAnswer, type SiteProxy, startSiteProxy } from '../support/site-proxy.ts';

export interface LogRow {
  id: number;
  at: string;
  kind: string;
  actor: string;
  detail: Record<string, unknown>;
}

export type ListingRow = Record<string, unknown> & { id: number };

/** A market whose log contains every act of merchants and maintainer, on more than two pages. */
export interface BusyMarket extends AuditedWorld {
  /** A free listing whose goods were replaced once and then taken. */
  exchanged: number;
  withdrawn: number;
  removed: number;
  restored: number;
  /** A newer version of `goods`, free for earlier buyers. */
  newer: number;
  /** Rows of the log, oldest first. */
  log: readonly LogRow[];
  proxy: SiteProxy;
  close(): Promise<void>;
}

/** Events without a listing, so that the log has several pages. */
const PADDING = 450;

export async function startBusyMarket(): Promise<BusyMarket> {
  const staged = await startAuditedWorld();
  const proxy = await startSiteProxy(() => staged.world.url);
  const { exchanged, ...others } = await live(staged);
  const { market } = staged.world.running;
  await market.database.transaction(async (tx) => {
    for (let at = 0; at < PADDING; at += 1)
      await recordEvent(tx, market, { kind: 'rotate', actor: 'seller-one', detail: { merchant_id: 2 } });
  });
  // This comes after the padding, so that related events are on different pages.
  await must(200, staged.world.buy(BigInt(exchanged), { key: staged.buyers[1].key }));
  await staged.world.running.eventsSettled();
  return {
    ...{ ...staged, ...others, exchanged, proxy, log: await readLog(staged.world.url) },
    close: async () => {
      await proxy.close();
      await staged.world.stop();
    },
  };
}

async function live({ world, keeper, seller, buyers, goods, list }: AuditedWorld) {
  const ask = (status: number, method: string, path: string, given: { key: string; body: unknown }) =>
    must(status, world.ask(method, path, given));
  const number = async (changes?: Record<string, unknown>): Promise<number> => Number(await list(changes));
  const exchanged = await number({ price_usdc: 0 });
  const { key } = seller;
  await ask(200, 'PATCH', `/api/listing/${exchanged}`, {
    key,
    body: { artifact: 'other goods', title: 'Another title' },
  });
  const [withdrawn, removed, restored] = [await number(), await number(), await number()];
  await ask(200, 'PATCH', `/api/listing/${restored}`, { key, body: { preview: 'Another preview' } });
  await ask(200, 'POST', `/api/listing/${withdrawn}/withdraw`, { key, body: { reason: 'sold elsewhere' } });
  for (const id of [removed, restored]) {
    const body = { listing_id: id, reason_code: 'policy', reason: 'For a while' };
    await ask(200, 'POST', '/api/mod/remove', { key: keeper.key, body });
  }
  const statement = { listing_id: restored, statement: 'It was right' };
  const { body } = await ask(201, 'POST', '/api/appeal', { key, body: statement });
  const { id: appeal } = body['appeal'] as { id: number };
  const decision = { appeal_id: appeal, outcome: 'restored', reason: 'It was' };
  await ask(200, 'POST', '/api/mod/appeal', { key: keeper.key, body: decision });
  await ask(200, 'POST', '/api/mod/pin', { key: keeper.key, body: { listing_id: restored, pinned: true } });
  await ask(201, 'POST', '/api/comment', { key: buyers[0].key, body: { listing_id: restored, body: 'Well' } });
  const newer = await number({ supersedes: Number(goods), entitles_previous_buyers: true });
  await must(200, world.buy(BigInt(newer), { key: buyers[0].key }));
  return { exchanged, withdrawn, removed, restored, newer };
}

async function must<Answer extends { status: number; body: unknown }>(
  status: number,
  asked: Promise<Answer>,
): Promise<Answer> {
  const answer = await asked;
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

export async function readLog(url: string): Promise<LogRow[]> {
  const rows: LogRow[] = [];
  for (let before = ''; ; ) {
    const answer = await fetch(`${url}/api/events${before}`);
    const page = (await answer.json()) as { events: LogRow[]; next_before_id: number | null };
    rows.push(...page.events);
    if (page.next_before_id === null) return rows.reverse();
    before = `?before_id=${page.next_before_id}`;
  }
}

/** Serves a page of the given log as an honest market would, because the lie is in the log itself and not in its pages. */
export function pageOf(log: readonly LogRow[], path: string): SiteAnswer {
  const query = new URL(path, 'http://market').searchParams;
  const [limit, before, kind] = [Number(query.get('limit') ?? 200), query.get('before_id'), query.get('kind')];
  const whole = kind === null ? log : log.filter((row) => row.kind === kind);
  const upTo = before === null ? whole.length : whole.findIndex(({ id }) => id === Number(before));
  if (upTo < 0) return { status: 400, json: { status: 400, reason: 'cursor_invalid' } };
  const events = whole.slice(Math.max(0, upTo - limit), upTo).reverse();
  const hasMore = upTo > limit;
  const counts = { total: whole.length, returned: events.length, page_size: limit, has_more: hasMore };
  return { status: 200, json: { events, ...counts, next_before_id: hasMore ? (events.at(-1)?.id ?? null) : null } };
}

export const isLog = (path: string): boolean => path.startsWith('/api/events');
export const isShelves = (path: string): boolean => path.startsWith('/api/shelves');

/** Changes that a lying market makes. Everything else is honest. */
export interface Lie {
  /** Returns the log to show. `asked` is the number of pages requested before. */
  log?(rows: LogRow[], asked: number): LogRow[];
  /** Returns the listing to show on the shelves. Null removes it. */
  shelf?(row: ListingRow): ListingRow | null;
  /** Returns a replacement for any other answer. Null keeps the honest answer. */
  answer?(asked: { path: string; json: Record<string, unknown> }): SiteAnswer | null;
}

export function lie({ proxy, log }: BusyMarket, { log: tell, shelf, answer }: Lie): void {
  let asked = 0;
  proxy.twist(({ path, status, json }) => {
    if (json === null || status !== 200)
      return answer?.({ path, json: {} }) ?? (tell && isLog(path) ? lyingPage(path) : null);
    const body = structuredClone(json) as Record<string, unknown>;
    if (isLog(path) && tell !== undefined) return lyingPage(path);
    if (isShelves(path) && shelf !== undefined) return { status, json: shelvesOf(body, shelf) };
    return answer?.({ path, json: body }) ?? null;
  });
  function lyingPage(path: string): SiteAnswer {
    asked += 1;
    return pageOf(tell?.(structuredClone(log) as LogRow[], asked - 1) ?? log, path);
  }
}

function shelvesOf(body: Record<string, unknown>, shelf: NonNullable<Lie['shelf']>): Record<string, unknown> {
  const listings = (body['listings'] as ListingRow[]).flatMap((row) => shelf(row) ?? []);
  return { ...body, listings, returned: listings.length, total: listings.length };
}

/** Numbers the rows in order, without gaps. */
export const numbered = (rows: readonly LogRow[]): LogRow[] => rows.map((row, at) => ({ ...row, id: at + 1 }));

export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** Runs the audit program as any user would. */
export async function runOn({ proxy, world }: BusyMarket, ...more: string[]): Promise<Ran> {
  const ran = { out: '', err: '' };
  const args = ['--market', proxy.url, '--rpc', world.chain.url, ...more];
  const code = await runAudit(args, {
    say: (text) => {
      ran.out += text;
    },
    note: (text) => {
      ran.err += text;
    },
  });
  return { code, ...ran };
}

/** Audits without a wait for caches, since this market is behind none. */
export const auditOf = ({ proxy, world }: BusyMarket, more: { statePath?: string; since?: number } = {}) =>
  auditMarket({ marketUrl: proxy.url, rpcUrl: world.chain.url, cachedMs: 100, ...more });
