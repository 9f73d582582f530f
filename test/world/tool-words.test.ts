import { resolve } from 'node:path';
import {
  isNoSubstitutionTemplateLiteral,
  isPropertyAssignment,
  isStringLiteral,
  isTemplateExpression,
  isVariableDeclaration,
  type Node,
} from 'typescript/unstable/ast';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS, REASONS, type Reason } from '../../src/contract/errors.ts';
import type { JsonSchema } from '../../src/contract/json-schemas.ts';
import { officialFacts } from '../../src/contract/official.ts';
import { listTools } from '../../src/market/mcp/tool-catalog.ts';
import { instructionsOf, rewriteAnswer, rewriteForTools } from '../../src/market/mcp/tool-guide.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { askMcp, callTool } from '../support/mcp-ask.ts';
import { seedListing } from '../support/seed.ts';
import { lineOf, nodesOf, openSources, type Source } from '../support/source/open-sources.ts';

/** Matches methods, paths, headers, statuses and words for them, none of which a caller of tools can use. */
const HTTP_TALK = new RegExp(
  [
    ...[String.raw`\b(?:GET|HEAD|POST|PUT|PATCH|DELETE)\b`, String.raw`(?<![\w.:])/(?:api|treasury)\b`],
    ...[String.raw`\bX-[A-Z]`, String.raw`\bPAYMENT-[A-Z]`, String.raw`\bWWW-`, String.raw`\bRetry-After\b`],
    ...[String.raw`\bAuthorization\b(?! of the connection)`, String.raw`\b[Hh]eaders?\b`],
    ...[
      String.raw`\b[Rr]outes?\b`,
      String.raw`\b[Rr]equests?\b`,
      String.raw`\b[Ss]tatus codes?\b`,
      String.raw`\bHTTP\b`,
    ],
    ...[String.raw`\b[Bb]ody\b`, String.raw`\b[Qq]uery\b`, String.raw`\b(?:40[0-9]|41[03]|42[29]|50[023])\b`],
  ].join('|'),
);

/** Reasons that no tool returns, because the request is not valid MCP, or only a city or an upload is refused so. */
const NOT_OF_TOOLS: ReadonlySet<Reason> = new Set([
  ...(['malformed_request', 'malformed_json', 'method_not_allowed', 'request_timeout'] as const),
  ...(['unsupported_media_type', 'origin_refused', 'token_required', 'insufficient_scope'] as const),
  // Goods are uploaded and downloaded over HTTP alone.
  ...(['upload_offset', 'upload_refused', 'upload_too_large', 'too_many_uploads', 'tus_version'] as const),
  ...(['checksum_mismatch', 'storage_full', 'range_not_satisfiable'] as const),
  'not_thing_owner',
]);
/** Reasons whose text may mention HTTP, because the goods are only available that way. */
const OVER_HTTP: ReadonlySet<Reason> = new Set(['not_by_tool']);

it('the pattern finds what it is for', () => {
  for (const text of [
    'POST /api/buy/7',
    'see /treasury',
    'in X-PAYMENT',
    'after 409',
    'this route',
    'Send the request',
  ])
    expect(HTTP_TALK.test(text), text).toBe(true);
  for (const text of ['retry: same_request', 'report request_id', 'Authorization of the connection', 'somebody'])
    expect(HTTP_TALK.test(text), text).toBe(false);
});

it('every row of the table of errors is true for a caller of tools', () => {
  const rows = REASONS.filter((reason) => !NOT_OF_TOOLS.has(reason) && !OVER_HTTP.has(reason));
  const left = rows.flatMap((reason) => {
    const { title, next_step } = ERRORS[reason];
    return [title, next_step]
      .map((text) => `${reason}: ${rewriteForTools(text)}`)
      .filter((text) => HTTP_TALK.test(text));
  });
  expect(left).toEqual([]);
  expect(rewriteForTools(ERRORS.offer_closed.next_step)).toMatch(/Do not pay\. The offer/);
  const begun = rows.flatMap((reason) => rewriteForTools(ERRORS[reason].next_step).split(/(?<=\.) /));
  expect(begun.filter((sentence) => /^(?:the|make|your|a|its) /.test(sentence))).toEqual([]);
});

describe('what a case says in place of its row', () => {
  /** Matches members and constants that hold our sentences. */
  const SAID = /^(?:nextStep|next_step|next|detail|message|how_to_appeal|NEXT|HOW_TO_APPEAL)$/;
  /** Matches source files whose texts no tool returns: identity, pages, operator commands, and MCP's own endpoints. */
  const ELSEWHERE =
    /\.test\.ts$|^src\/market\/(?:pages|connect|identity|history|goods)\/|^src\/market\/(?:[\w-]*command|config|prepare-database|start|supervisor)\.ts$|^src\/market\/mcp\/(?:mount-mcp|create-mcp|messages)\.ts$/;
  const sources = openSources(resolve(import.meta.dirname, '../..')).filter(
    ({ path }) =>
      (path.startsWith('src/market/') || path === 'src/platform/http/caller-headers.ts') && !ELSEWHERE.test(path),
  );

  /** Returns each text in an expression, with 7 for every interpolated value. */
  function textsIn(node: Node): string[] {
    if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return [node.text];
    if (isTemplateExpression(node)) {
      return [node.head.text + node.templateSpans.map(({ literal }) => `7${literal.text}`).join('')];
    }
    const found: string[] = [];
    node.forEachChild((child) => {
      found.push(...textsIn(child));
    });
    return found;
  }

  function sentencesOf(source: Source): string[] {
    return [...nodesOf(source.tree)].flatMap((node) => {
      if (!isPropertyAssignment(node) && !isVariableDeclaration(node)) return [];
      if (!SAID.test(node.name.getText(source.tree)) || node.initializer === undefined) return [];
      const texts = textsIn(node.initializer).filter((text) => text.includes(' '));
      return texts.map((text) => `${source.path}:${lineOf(source, node)} ${text}`);
    });
  }

  it('is true for a caller of tools as well', () => {
    const said = sources.flatMap(sentencesOf);
    expect(said.length).toBeGreaterThan(100);
    // Cities have no tools, so texts describe canceling an offer there as an HTTP request.
    const ofCity = / with a POST of \{\} to 7; /;
    const spoken = said.map((line) => rewriteForTools(line.replace(ofCity, ' ')));
    expect(spoken.filter((line) => HTTP_TALK.test(line.slice(line.indexOf(' '))))).toEqual([]);
  });
});

describe('the list', () => {
  const all = listTools({ isMaintainer: true, hasCity: true });

  /** Returns every field of a schema with its path. */
  function fieldsOf(schema: JsonSchema, path: string): [path: string, field: JsonSchema][] {
    const inside = ['anyOf', 'oneOf'].flatMap((keyword) => (schema[keyword] as JsonSchema[] | undefined) ?? []);
    const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
    return [
      ...properties.flatMap(([name, field]): [string, JsonSchema][] => [
        [`${path}.${name}`, field],
        ...fieldsOf(field, `${path}.${name}`),
      ]),
      ...inside.flatMap((form) => fieldsOf(form, path)),
    ];
  }

  const fields = all.flatMap(({ name, inputSchema }) => fieldsOf(inputSchema as JsonSchema, name));

  it('describes every argument at every depth, in words that a caller of tools can follow', () => {
    expect(fields.map(([path]) => path)).toContain('list_world.fee_payment.payer_signature');
    expect(fields.filter(([, { description }]) => typeof description !== 'string')).toEqual([]);
    const said = [
      ...fields.map(([, { description }]) => String(description)),
      ...all.map(({ description }) => description),
    ];
    expect(said.filter((text) => HTTP_TALK.test(text))).toEqual([]);
  });

  it('says of every number of rows how many there are and may be', () => {
    const limits = fields.filter(([path]) => /[._]limit$/.test(path));
    expect(limits.length).toBeGreaterThan(10);
    for (const [path, { type, default: value, maximum }] of limits) {
      expect([path, type, Number(value) <= Number(maximum)]).toEqual([path, 'integer', true]);
    }
  });

  it('names what an answer is looked at for', () => {
    const answers = new Map(all.map(({ name, outputSchema }) => [name, outputSchema as JsonSchema]));
    const told = (tool: string) => JSON.stringify(answers.get(tool));
    for (const name of ['next_cursor', 'did_you_mean', 'search']) expect(told('browse')).toContain(name);
    for (const name of ['challenge', 'minimum_amount_units', 'seller_wallet', 'expires_at']) {
      expect(told('purchase_intent')).toContain(name);
      expect(told('fee_intent')).toContain(name);
    }
    for (const tool of ['buy', 'claim_purchase', 'list_item']) expect(told(tool)).toContain('payment_status');
    expect(told('sync_world')).toContain('world_state');
  });

  it('is what the instructions name, with a city and without one', () => {
    expect(instructionsOf(true)).toContain('world_status');
    expect(instructionsOf(false)).not.toContain('world_status');
  });
});

describe('what is whose', () => {
  const HTTP = 'POST /api/buy/7 with X-PAYMENT';

  it('our words of a refusal are in the words of tools wherever they stand, and what a caller named stays', () => {
    const problem = {
      ...{
        reason: 'invalid_fields',
        error_class: 'bad_input',
        title: HTTP,
        detail: HTTP,
        error: HTTP,
        next_step: HTTP,
      },
      errors: [{ path: 'X-Delivery-Token', message: HTTP }],
    };
    const said = rewriteAnswer(problem);
    expect(HTTP_TALK.test(JSON.stringify(said))).toBe(false);
    expect(said).toMatchObject({ errors: [{ path: '_meta["openaisle/delivery-token"]' }] });
    const unknown = {
      ...problem,
      reason: 'unexpected_fields',
      errors: [{ path: 'GET /api/me', message: 'is unknown' }],
    };
    expect(rewriteAnswer(unknown)).toMatchObject({ errors: [{ path: 'GET /api/me' }] });
  });

  it('what merchants wrote stays as it is', () => {
    const written = { title: HTTP, description: HTTP, preview: HTTP, body: HTTP, reason: HTTP, artifact: HTTP };
    const answer = { listing: written, comments: [written], ...written, next: HTTP };
    const { next, ...rest } = rewriteAnswer(answer);
    expect(rest).toEqual({ listing: written, comments: [written], ...written });
    expect(next).toBe('The tool buy with _meta["x402/payment"]');
  });
});

describe('of a running market', () => {
  let world: World;
  let keeper: Member;
  let buyer: Member;
  let id: number;
  beforeAll(async () => {
    world = await startWorld();
    keeper = await world.join('keeper');
    const seller = await world.join('seller');
    buyer = await world.join('buyer');
    id = Number((await seedListing(world.db.database, seller.id, { priceUnits: 2_000_000n })).id);
    await world.running.eventsSettled();
  });
  afterAll(() => world?.stop());

  const namesOf = (tools: unknown): string[] => (tools as { name: string }[]).map(({ name }) => name);

  it('the front door names the tools that its caller is listed, and no addresses of theirs', async () => {
    for (const key of [undefined, buyer.key, keeper.key]) {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const { message } = await askMcp(world, 'tools/list', {}, { headers });
      const { body } = await callTool(world, 'front_door', {}, key === undefined ? {} : { key });
      expect(namesOf(body['tools'])).toEqual(namesOf(message.result?.['tools']));
      const { start, rules } = body;
      expect(start).toBe('the tool official_facts');
      expect(HTTP_TALK.test(JSON.stringify({ start, rules }))).toBe(false);
      expect(body['activity']).toMatchObject({ more: { tool: 'read_events', arguments: { scope: 'door' } } });
    }
  });

  it('the official facts name tools where HTTP has addresses', async () => {
    const { body } = await callTool(world, 'official_facts');
    const { patterns: _, limits: __, public_pagination: ___, ...facts } = body;
    expect(HTTP_TALK.exec(JSON.stringify(facts))).toBe(null);
    expect(facts).toMatchObject({
      ordinary_direct_payment: {
        intent: 'the tool purchase_intent',
        claim: 'the tool claim_purchase',
        fee_intent: 'the tool fee_intent',
      },
      maintainer: { powers: expect.arrayContaining([expect.objectContaining({ endpoint: 'the tool pin_listing' })]) },
    });
    // This body stays in its HTTP form, for programs that parse it.
    expect(officialFacts.safeParse(body).error).toBeUndefined();
    const { body: overHttp } = await world.ask('GET', '/api/official');
    expect(Object.keys(body)).toEqual(Object.keys(overHttp));
  });

  it('a page goes on as a call with arguments of the type of the schema', async () => {
    const { body } = await callTool(world, 'window', { merchants_limit: 1 });
    expect(body['merchants']).toMatchObject({ more: { tool: 'merchants', arguments: { after_id: 1 } } });
    expect((await callTool(world, 'merchants', { after_id: 1 })).body['merchants']).toHaveLength(2);
  });

  it('what is asked to be signed comes without a description of HTTP, and is no text of merchants', async () => {
    const asked = await callTool(world, 'buy', { id });
    expect(asked.body).toMatchObject({ reason: 'payment_required', resource: {}, accepts: [{ extra: {} }] });
    expect(asked.body).not.toHaveProperty('extensions');
    expect(asked.meta).not.toHaveProperty('openaisle/untrusted');
    expect(asked.text).not.toContain('bazaar');
  });

  it('an intent says with which tool it goes on, and takes a recovery slip as over HTTP', async () => {
    const { body } = await callTool(world, 'purchase_intent', { id }, { key: buyer.key });
    expect(body['purchase_intent']).toMatchObject({ next: expect.stringContaining('the tool claim_purchase') });
    const fee = await callTool(world, 'fee_intent', {}, { key: buyer.key });
    expect(fee.body['fee_intent']).toMatchObject({ next: expect.stringContaining('the tool list_item') });
    const meta = { 'openaisle/recovery-slip': 'none of ours' };
    const slip = await callTool(world, 'purchase_intent', { id }, { key: buyer.key, meta });
    expect(slip.body).toMatchObject({
      reason: 'invalid_fields',
      errors: [{ path: '_meta["openaisle/recovery-slip"]', message: 'is none that this market gave' }],
    });
  });
});
