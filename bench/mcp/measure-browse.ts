import { resolve } from 'node:path';
import { AISLES } from '../../src/contract/vocabulary.ts';
import { load, median, type Slice } from '../load.ts';
import type { Running } from '../run-bench.ts';
import { requestBytes } from '../wire.ts';
import { startWorld } from '../world.ts';

export interface BrowseOutcome {
  era: Era;
  /** True if the client requests gzip, so that both sides compress their answers. */
  gzip: boolean;
  httpPerSecond: number;
  mcpPerSecond: number;
  /** Median of the rounds' ratios. */
  ratio: number;
  rounds: number[];
  /** Calls in the shortest round. */
  calls: number;
  httpBytes: number;
  mcpBytes: number;
}

type Era = 'modern' | 'legacy';
type Kind = Pick<BrowseOutcome, 'era' | 'gzip'>;

const IN_FLIGHT = 16;
const SECONDS = 4;
const WARM_UP_SECONDS = 2;
const ROUNDS = 3;
const LISTINGS = 2_000;
const SORTS = ['new', 'karma', 'sales', 'price_asc', 'price_desc'] as const;
const KINDS: readonly Kind[] = [
  { era: 'modern', gzip: false },
  { era: 'legacy', gzip: false },
  { era: 'modern', gzip: true },
  { era: 'legacy', gzip: true },
];
const REVISION = { modern: '2026-07-28', legacy: '2025-11-25' } as const;

/** Requests the same pages by HTTP route and by MCP tool, in turn. */
export async function measureBrowse(_: object, { begun, signal, tell }: Running): Promise<BrowseOutcome[]> {
  const root = resolve(import.meta.dirname, '../..');
  const { side: market } = await startWorld({ root, listings: LISTINGS, begun, signal, tell });
  const { marketUrl } = market;
  const pages = AISLES.flatMap((aisle) => SORTS.map((sort) => ({ aisle, sort })));
  const outcomes: BrowseOutcome[] = [];
  for (const { era, gzip } of KINDS) {
    const accept = gzip ? { 'accept-encoding': 'gzip' } : {};
    const kind = `${era}${gzip ? ', gzip' : ''}`;
    const sides = {
      http: pages.map((page) =>
        requestBytes(marketUrl, { method: 'GET', path: `/api/shelves?${new URLSearchParams(page)}`, headers: accept }),
      ),
      mcp: pages.map((page, index) => toolRequest(marketUrl, { era, accept }, page, index)),
    };
    const run = (side: keyof typeof sides, seconds: number): Promise<Slice> =>
      load(marketUrl, sides[side], { connections: IN_FLIGHT, seconds });
    tell(`${kind}: warming up`);
    for (const side of ['http', 'mcp'] as const) await run(side, WARM_UP_SECONDS);
    const rounds: { http: Slice; mcp: Slice }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const http = await run('http', SECONDS);
      const mcp = await run('mcp', SECONDS);
      rounds.push({ http, mcp });
      tell(
        `${kind}: round ${round + 1} of ${ROUNDS}: ${mcp.perSecond.toFixed(0)}/s against ${http.perSecond.toFixed(0)}/s`,
      );
    }
    outcomes.push(outcomeOf({ era, gzip }, rounds));
  }
  return outcomes;
}

function outcomeOf(kind: Kind, rounds: readonly { http: Slice; mcp: Slice }[]): BrowseOutcome {
  const ratios = rounds.map(({ http, mcp }) => mcp.perSecond / http.perSecond);
  const mcpRates = rounds.map(({ mcp }) => mcp.perSecond);
  return {
    ...kind,
    httpPerSecond: median(rounds.map(({ http }) => http.perSecond)),
    mcpPerSecond: median(mcpRates),
    ratio: median(ratios),
    rounds: ratios,
    calls: Math.floor(Math.min(...mcpRates) * SECONDS),
    httpBytes: median(rounds.map(({ http }) => http.bytesPerRequest)),
    mcpBytes: median(rounds.map(({ mcp }) => mcp.bytesPerRequest)),
  };
}

function toolRequest(
  url: string,
  { era, accept }: { era: Era; accept: Record<string, string> },
  page: object,
  id: number,
): Buffer {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': REVISION.modern,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  };
  const params = { name: 'browse', arguments: page, ...(era === 'modern' ? { _meta: envelope } : {}) };
  return requestBytes(url, {
    method: 'POST',
    path: '/mcp',
    headers: {
      ...accept,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION[era],
      ...(era === 'modern' ? { 'mcp-method': 'tools/call', 'mcp-name': 'browse' } : {}),
    },
    body: { jsonrpc: '2.0', id, method: 'tools/call', params },
  });
}
