import { createHash } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { endpoints } from '../../src/contract/index.ts';
import { needsCity, TOOLS } from '../../src/contract/tools.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { freePort } from '../support/free-port.ts';
import { type Answer, type Member, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { newGoods } from '../support/trade.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const DOCUMENTS: Readonly<Record<string, string>> = {
  '/server.json': JSON_TYPE,
  '/mcp/server-card': 'application/mcp-server-card+json',
  '/.well-known/mcp/server-card.json': JSON_TYPE,
  '/.well-known/ai-catalog.json': 'application/ai-catalog+json',
  '/.well-known/api-catalog': 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
  '/.well-known/agent-skills/index.json': JSON_TYPE,
  '/.well-known/agent-skills/trade-on-openaisle/SKILL.md': 'text/markdown; charset=utf-8',
};
/** Pages that link the documents above for readers who do not know them. */
const GUIDES = ['/', '/llms.txt', '/help', '/api/help', '/openapi.json'];

let world: World;
let seller: Member;

beforeAll(async () => {
  world = await startWorld({ port: await freePort() });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
});
afterAll(() => world?.stop());

const read = (path: string, init: RequestInit = {}): Promise<Response> => fetch(`${world.url}${path}`, init);
const json = async (path: string) =>
  JSON.parse(await (await read(path, { headers: { accept: 'application/json' } })).text());

/** Returns the absolute addresses of this host and all link targets. */
function addressesIn(written: string): string[] {
  const text = written.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
  const absolute = [...text.matchAll(/https?:\/\/[^\s"'`<>()\\,;]+/g)].map(([address]) => address.replace(/[.:]$/, ''));
  const links = [...text.matchAll(/\]\((\/[^)]*)\)|href="(\/[^"]*)"/g)].map(([, a, b]) => `${world.url}${a ?? b}`);
  return [...absolute, ...links].filter((address) => address.startsWith(world.url));
}

describe('the documents by which agents find the market', () => {
  it.each(Object.entries(DOCUMENTS))(
    '%s answers GET and HEAD, may be kept, and is read by any origin',
    async (path, type) => {
      // Ask for the uncompressed form, because after the first request a compressed one with other bytes is cached.
      const headers = { 'accept-encoding': 'identity' };
      const answer = await read(path, { headers });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      const body = await answer.text();
      if (!path.endsWith('.md')) expect(typeof JSON.parse(body)).toBe('object');
      const etag = answer.headers.get('etag') ?? '';
      expect(etag).toMatch(/^"/);
      expect((await read(path, { headers: { ...headers, 'if-none-match': etag } })).status).toBe(304);
      const head = await read(path, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
      expect(head.headers.get('content-type')).toBe(type);
    },
  );

  it('lead nowhere but to addresses that answer', async () => {
    const found = new Set<string>();
    for (const path of [...Object.keys(DOCUMENTS), ...GUIDES]) {
      for (const accept of ['application/json', 'text/html', 'text/plain']) {
        const answer = await read(path, { headers: { accept } });
        expect([path, answer.status]).toEqual([path, 200]);
        for (const address of addressesIn(await answer.text())) found.add(address.replace(/#.*$/, ''));
      }
    }
    for (const path of Object.keys(DOCUMENTS)) found.add(`${world.url}${path}`);
    expect(found.size).toBeGreaterThan(20);
    expect([...found]).toContain(`${world.url}/mcp/connect`);
    const statuses = await Promise.all([...found].map(async (address) => [address, (await fetch(address)).status]));
    // MCP accepts only POST.
    const lost = statuses.filter(([address, status]) => status !== 200 && address !== `${world.url}/mcp`);
    expect(lost).toEqual([]);
  });

  it('are found from the front page, from the catalog’s own head, and from one another', async () => {
    const relation = '</.well-known/api-catalog>; rel="api-catalog"';
    for (const accept of ['text/html', 'text/plain', 'application/json'])
      expect((await read('/', { headers: { accept } })).headers.get('link')).toContain(relation);
    const head = await read('/.well-known/api-catalog', { method: 'HEAD' });
    expect(head.headers.get('link')).toBe(relation);
    const { linkset } = await json('/.well-known/api-catalog');
    expect(linkset.map(({ anchor }: { anchor: string }) => anchor)).toEqual([
      `${world.url}/`,
      `${world.url}/mcp`,
      `${world.url}/mcp/connect`,
    ]);
    const { entries } = await json('/.well-known/ai-catalog.json');
    const card = await (await fetch(entries[0].url)).text();
    expect(card).toBe(await (await read('/.well-known/mcp/server-card.json')).text());
  });

  it('hand over the skill whole: its digest is that of the bytes served, small or not', async () => {
    const { $schema, skills } = await json('/.well-known/agent-skills/index.json');
    expect($schema).toBe('https://schemas.agentskills.io/discovery/0.2.0/schema.json');
    expect(skills).toHaveLength(1);
    for (const encoding of ['identity', 'gzip', 'br']) {
      const answer = await fetch(skills[0].url, { headers: { 'accept-encoding': encoding } });
      const bytes = Buffer.from(await answer.arrayBuffer());
      expect(skills[0].digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
    }
    expect((await read('/.well-known/agent-skills/another/SKILL.md')).status).toBe(404);
  });

  it('show the guide under /help in the three forms, the data like /api/help', async () => {
    const page = await read('/help', { headers: { accept: 'text/html' } });
    expect(await page.text()).toContain('<h1>Help</h1>');
    expect(await (await read('/help')).text()).toContain('## Use it over MCP');
    expect(await json('/help')).toEqual(await json('/api/help'));
  });
});

describe('the record of the MCP server', () => {
  it('names exactly the places where MCP is spoken here, and calls the server what it calls itself', async () => {
    const { name, version, remotes } = await json('/server.json');
    const { identity } = await json('/api/official');
    expect(remotes.map(({ url }: { url: string }) => url)).toEqual([`${world.url}/mcp`, identity.hosted_connector]);
    const client = new Client({ name: 'finder', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(remotes[0].url)));
    const own = client.getServerVersion();
    expect([name.split('/').at(-1), version]).toEqual([own?.name, own?.version]);
    const forStrangers = TOOLS.filter((tool) => tool.kind !== 'maintainer' && !needsCity(tool));
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(forStrangers.map((tool) => tool.name));
    await client.close();
    const hosted = await fetch(remotes[1].url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    expect([hosted.status, hosted.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('resource_metadata='),
    ]);
  });
});

describe('the 402, for catalogs of paid services', () => {
  const asked = ({ status, headers, body }: Answer) => {
    expect(status).toBe(402);
    const header = headers.get('payment-required') ?? '';
    // Clients accept at least 16 KiB of headers and send this header's content back.
    expect(header.length).toBeLessThan(4_096);
    const [{ outputSchema }] = body['accepts'] as [{ outputSchema: unknown }];
    expect(outputSchema).toEqual({ input: { type: 'http', method: 'POST', discoverable: true } });
    const { extensions, accepts } = JSON.parse(Buffer.from(header, 'base64').toString());
    expect(Object.keys(accepts[0]).sort()).toEqual([
      'amount',
      'asset',
      'extra',
      'maxTimeoutSeconds',
      'network',
      'payTo',
      'scheme',
    ]);
    expect(z.fromJSONSchema(extensions.bazaar.schema).safeParse(extensions.bazaar.info).error).toBeUndefined();
    return extensions.bazaar;
  };

  it('says how goods are bought and how they are listed', async () => {
    const wallet = WORLD_ACCOUNTS.sellerOne.address;
    const { id } = await seedListing(world.db.database, seller.id, { wallet, priceUnits: 2_500_000n, artifact: 'a' });
    await world.running.eventsSettled();
    const bought = asked(await world.buy(id));
    expect(bought).toMatchObject({
      routeTemplate: endpoints.buyListing.path,
      info: { input: { type: 'http', method: 'POST', bodyType: 'json', pathParams: { id: String(id) } } },
    });
    const listed = asked(await world.ask('POST', '/api/listing', { key: seller.key, body: newGoods() }));
    expect(listed.info.input).toMatchObject({ type: 'http', method: 'POST', bodyType: 'json' });
    expect(endpoints.createListing.body.safeParse(listed.info.input.body).success).toBe(true);
  });
});
