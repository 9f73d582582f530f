import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { needsCity, TOOLS } from '../../src/contract/tools.ts';
import { freePort } from '../support/free-port.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import {
  type Check,
  ERAS,
  faultsOf,
  inspect,
  inspectTool,
  type Revision,
  reportRun,
  runSuite,
  TOOL_ERROR,
} from './mcp-judge.ts';

/** Scenarios by revision that need no tools of the suite. The rest call tools that no market has. */
const WITHOUT_FIXTURE: Readonly<Record<Revision, readonly string[]>> = {
  '2026-07-28': [
    ...['server-stateless', 'tools-list', 'resources-list', 'sep-2164-resource-not-found', 'prompts-list', 'caching'],
    ...['dns-rebinding-protection', 'http-header-validation', 'server-sse-multiple-streams'],
    'input-required-result-unsupported-methods',
  ],
  '2025-11-25': [
    ...['server-initialize', 'ping', 'tools-list', 'resources-list', 'prompts-list', 'dns-rebinding-protection'],
  ],
};

/** Checks of server-stateless that look for the suite's own tools and report an error without them. */
const NEED_FIXTURE = [
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
  'sep-2575-server-rejects-undeclared-capability',
];

const textOf = (result: Record<string, unknown>): string => {
  const [first] = result['content'] as { text: string }[];
  return first?.text ?? '';
};

const linesOf = (said: string, label: string): string[] =>
  said.split('\n').flatMap((line) => (line.trim().startsWith(label) ? [line.trim().slice(label.length)] : []));

describe('the market’s own /mcp', () => {
  let world: World;
  let url: string;
  let seller: Member;
  let listingId: bigint;
  beforeAll(async () => {
    world = await startWorld({ port: await freePort() });
    url = `${world.url}/mcp`;
    seller = await world.join('judged-seller');
    ({ id: listingId } = await seedListing(world.db.database, seller.id, { title: 'Judged goods' }));
    const isShown = async (): Promise<boolean> => (await world.ask('GET', `/api/listing/${listingId}`)).status === 200;
    await vi.waitUntil(isShown, { timeout: 10_000 });
  });
  afterAll(() => world.stop());

  describe.each(Object.entries(WITHOUT_FIXTURE))('before the conformance suite, revision %s', (revision, scenarios) => {
    test('passes whatever needs no tools of the suite’s own', async () => {
      const run = await runSuite(['server', '--url', url, '--requirements', revision]);
      const judged = run.checks.filter(({ scenario }) => scenarios.includes(scenario));
      reportRun(`production ${revision}`, { ...run, checks: judged }, scenarios);
      const isUntestable = ({ id, details }: Check): boolean =>
        NEED_FIXTURE.includes(id) && details?.untestable === true;
      expect(faultsOf(judged.filter((check) => !isUntestable(check)))).toEqual([]);
      const seen = new Set(judged.flatMap(({ scenario, status }) => (status === 'SUCCESS' ? [scenario] : [])));
      expect(scenarios.filter((scenario) => !seen.has(scenario))).toEqual([]);
    });
  });

  describe.each(ERAS)('before the Inspector, as a %s client', (era) => {
    test('lists every tool for a stranger, in order, with arguments that every host can read', async () => {
      const { code, result, seconds, stderr } = await inspect(url, era, ['--method', 'tools/list', '--strict']);
      const [places, issues] = [linesOf(stderr, 'Path: '), linesOf(stderr, 'Issue: ')];
      process.stdout.write(`inspector ${era}: exit ${code}, ${seconds.toFixed(1)} s, ${issues.length} warnings\n`);
      expect(code).toBe(0);
      // Nullable types are allowed only in results, which no host produces.
      expect(places.filter((place) => !place.startsWith('outputSchema'))).toEqual([]);
      expect(issues.filter((issue) => !/\["\w+","null"\]/.test(issue))).toEqual([]);
      const tools = result['tools'] as { name: string }[];
      expect(tools.map(({ name }) => name)).toEqual(
        TOOLS.filter((tool) => tool.kind !== 'maintainer' && !needsCity(tool)).map(({ name }) => name),
      );
    });

    test('calls public tools, and gets what the routes answer', async () => {
      const facts = await world.ask('GET', '/api/official');
      const official = await inspectTool(url, era, 'official_facts');
      expect([official.code, official.stderr]).toEqual([0, '']);
      // Fields with HTTP URLs name tools here instead.
      const { treasury, usdc_contract, network, limits, patterns } = facts.body;
      expect(official.result['structuredContent']).toMatchObject({
        treasury,
        usdc_contract,
        network,
        limits,
        patterns,
      });
      expect(JSON.parse(textOf(official.result))).toEqual(official.result['structuredContent']);

      const door = await inspectTool(url, era, 'front_door');
      expect(door).toMatchObject({ code: 0, result: { structuredContent: { name: expect.any(String) } } });
      const shelf = await inspectTool(url, era, 'browse', { q: 'judged', limit: 5 });
      expect(shelf).toMatchObject({ code: 0, result: { structuredContent: { total: 1 } } });
      const listing = await inspectTool(url, era, 'read_listing', { id: Number(listingId) });
      expect(listing).toMatchObject({
        code: 0,
        result: { structuredContent: { listing: { title: 'Judged goods' } }, _meta: { 'openaisle/untrusted': true } },
      });
    });

    test('is told by a tool for merchants what is missing, and served with a key', async () => {
      const refused = await inspectTool(url, era, 'me');
      expect(refused.code).toBe(TOOL_ERROR);
      expect(refused.result).toMatchObject({ isError: true, structuredContent: { reason: 'key_required' } });
      const served = await inspectTool(url, era, 'me', {}, ['--header', `Authorization: Bearer ${seller.key}`]);
      expect(served).toMatchObject({
        code: 0,
        result: { structuredContent: { merchant: { handle: 'judged-seller' } } },
      });
    });

    test('reads a resource and a prompt', async () => {
      const resources = await inspect(url, era, ['--method', 'resources/list']);
      expect(JSON.stringify(resources.result)).toContain('market://official');
      const read = await inspect(url, era, ['--method', 'resources/read', '--uri', `market://listing/${listingId}`]);
      expect([read.code, JSON.stringify(read.result)]).toEqual([0, expect.stringContaining('Judged goods')]);
      const prompt = ['--method', 'prompts/get', '--prompt-name', 'buy_safely', '--prompt-args', 'listing_id=7'];
      const got = await inspect(url, era, prompt);
      expect([got.code, JSON.stringify(got.result)]).toEqual([0, expect.stringContaining('listing 7')]);
    });
  });
});
