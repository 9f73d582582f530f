import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../../test/support/market-context.ts';
import { joinMarket, type Member } from '../../../../test/support/market-world.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import { TOKEN_SCOPES } from '../../../contract/connections.ts';
import { sha256 } from '../../../platform/canonical-json.ts';
import { createHttpServer, type HttpServer } from '../../../platform/http/create-http-server.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { makePairingCode, makeRecoveryCode } from '../../../platform/secrets.ts';
import type { Interaction, Interactions, SignInProof } from '../../connect/interaction.ts';
import type { Market, Merchant } from '../../context.ts';
import { createConnectPages } from './create-connect-pages.ts';
import { showName } from './render-interaction.ts';

const db = testDatabase();
const clock = settableClock(Date.parse('2030-01-01T12:00:00.000Z'));
const { log, lines } = recordingLog();
let market: Market;
let server: HttpServer;
let owner: Member;
let count = 0;
let uid = '';

/** Open interaction of the fake authorization server below. It belongs to the browser whose cookie contains its uid. */
let open: Interaction | null = null;
const decisions: { as: 'allowed' | 'canceled'; proof?: SignInProof }[] = [];
let onAllow = async (): Promise<void> => {};
const interactions: Interactions = {
  find: async ({ headers }, of) => (open?.uid === of && headers.cookie === `interaction=${of}` ? open : null),
  allow: async (_incoming, _interaction, proof) => {
    await onAllow();
    decisions.push({ as: 'allowed', proof });
    return { location: 'http://127.0.0.1:4020/oauth/resume' };
  },
  cancel: async () => {
    decisions.push({ as: 'canceled' });
    return { location: 'http://127.0.0.1:4020/oauth/resume' };
  },
};

beforeAll(async () => {
  market = { ...marketContext({ database: db.database, clock, limits: { pair_tries_per_ip_hour: 1_000 } }), log };
  const { config, random } = market;
  server = createHttpServer<Record<never, never>, Market, Merchant>({
    ...{ endpoints: {}, operations: {}, context: market, log, clock, random, trustProxy: false as const },
    authenticate: async () => null,
    isMaintainer: () => false,
    callerId: ({ id }) => id,
    docsUrl: (reason) => `${config.baseUrl}/docs/errors/${reason}`,
    secretPrefixes: ['aisle', 'city'],
    extraRoutes: (inside) => createConnectPages(market, interactions, inside),
  });
  owner = await joinMarket(db, 'page-owner');
});
afterAll(() => server.close({ drainMs: 0 }));
beforeEach(() => {
  count += 1;
  uid = `interaction-${count}`;
  open = interaction();
  decisions.length = 0;
  onAllow = async () => {};
});

function interaction(client: Partial<Interaction['client']> = {}): Interaction {
  return {
    uid,
    client: {
      name: 'A client',
      host: 'client.example',
      redirectHost: 'client.example',
      loopbackOnly: false,
      ...client,
    },
    scopes: ['market:read', 'market:me'],
  };
}

const OWN = { 'sec-fetch-site': 'same-origin' };
const keyOf = ({ key }: Member) => ({ authorization: `Bearer ${key}` });

async function read(path: string, headers: Record<string, string> = { accept: 'text/html' }) {
  const answer = await server.inject({ method: 'GET', url: path, headers });
  return { status: answer.statusCode, headers: answer.headers, text: answer.body };
}
const readPage = (cookie = uid) =>
  read(`/oauth/interaction/${uid}`, { accept: 'text/html', cookie: `interaction=${cookie}` });

async function sendStep(name: 'prove' | 'decide', body: unknown, headers: Record<string, string> = {}, cookie = uid) {
  const answer = await server.inject({
    method: 'POST',
    url: `/oauth/interaction/${uid}/${name}`,
    headers: { ...OWN, 'content-type': 'application/json', cookie: `interaction=${cookie}`, ...headers },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json<Record<string, unknown>>() };
}
const reason = async (answer: ReturnType<typeof sendStep>) => (await answer).body['reason'];
const triesOf = async () =>
  (
    await db.database.maybe<{ wrong_tries: number }>(sql`
      select wrong_tries from connect_proofs where interaction_hash = ${sha256(uid)}`)
  )?.wrong_tries ?? null;

describe('every page', () => {
  it.each(['/mcp/connect', '/mcp/connect/grants', 'the consent page'])(
    '%s is never stored and never framed',
    async (path) => {
      const { status, headers, text } = path.startsWith('/') ? await read(path) : await readPage();
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        ...{
          'cache-control': 'private, no-store',
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
        },
        'content-type': 'text/html; charset=utf-8',
      });
      expect(headers['access-control-allow-origin']).toBeUndefined();
      const policy = String(headers['content-security-policy']);
      const nonce = /'nonce-([\w-]{24})'/.exec(policy)?.[1] ?? '';
      expect(policy.replace(nonce, 'N')).toBe(
        "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; script-src 'nonce-N'; connect-src 'self'",
      );
      expect(text.match(/<script/g)).toHaveLength(2);
      expect(text.split(`nonce="${nonce}"`)).toHaveLength(3);
      expect(text).not.toMatch(/ on[a-z]+=| style=|<style/);
      // No input has a name, so no form can send the typed text.
      expect(text).not.toMatch(/<input[^>]* name=/);
    },
  );
});

describe('/mcp/connect', () => {
  it('says the same to programs', async () => {
    const json = await read('/mcp/connect', { accept: 'application/json' });
    expect(JSON.parse(json.text)).toMatchObject({
      url: 'http://127.0.0.1:4020/mcp/connect',
      grants: 'http://127.0.0.1:4020/mcp/connect/grants',
      hosts: expect.arrayContaining([
        expect.objectContaining({
          name: 'Claude Code',
          to_copy: 'claude mcp add --transport http openaisle http://127.0.0.1:4020/mcp/connect',
        }),
      ]),
    });
    const markdown = await read('/mcp/connect', { accept: '*/*' });
    expect(markdown.headers['content-type']).toBe('text/plain; charset=utf-8');
    for (const { name } of JSON.parse(json.text).hosts) expect(markdown.text).toContain(`## ${name}`);
  });

  it('has no stream of messages', async () => {
    const { status, headers } = await read('/mcp/connect', { accept: 'text/event-stream' });
    expect([status, headers['allow']]).toEqual([405, 'POST']);
  });
});

describe('the consent page', () => {
  it('names the program, where it goes back to, and what it may do', async () => {
    open = { ...interaction(), scopes: TOKEN_SCOPES };
    const { text } = await readPage();
    expect(text).toContain('<bdi>A client</bdi>, as it calls itself');
    expect(text).toContain('<dd><code>client.example</code>, which publishes what it is</dd>');
    expect(text).toContain('<dd><code>client.example</code></dd>');
    expect(text).toContain('list, change and withdraw goods');
    expect(text).toMatch(/<label for="merchant-key">Merchant key<\/label>/);
    expect(text).toMatch(/<label for="pairing-code">Pairing code<\/label>/);
  });

  it('says so where a name proves nothing', async () => {
    open = interaction({ name: null, host: null, redirectHost: '127.0.0.1', loopbackOnly: true });
    const { text } = await readPage();
    expect(text).toContain('A program without a name asks');
    expect(text).toContain('it registered itself here, so its name proves nothing');
    expect(text).toContain('A program on this device (<code>127.0.0.1</code>)');
  });

  it.each([
    ['client.example', false, false],
    ['client.example:8443', false, false],
    ['localhost.example', false, false],
    ['localhost', false, true],
    ['[::1]', false, true],
    ['client://callback', false, true],
    ['com.client.app:', false, true],
    ['127.0.0.1', true, true],
  ])(
    'tells a way back to %s, where all of them stay here: %s, as one to this device: %s',
    async (host, all, isHere) => {
      open = interaction({ redirectHost: host, loopbackOnly: all });
      const { text } = await readPage();
      expect(text).toContain(`<code>${host}</code>`);
      expect(text.includes('A program on this device (')).toBe(isHere);
      expect(text.includes('any program here could take its place')).toBe(isHere);
    },
  );

  it('shows a hostile name as what it is', async () => {
    const name = '</bdi><img src=x onerror=alert(1)><script>alert(1)</script>\u202etluafed\u0000\n"\'';
    open = interaction({ name, redirectHost: '<b>x</b>' });
    const { text } = await readPage();
    expect(text).not.toMatch(/<img|<b>|[\p{Cf}\p{Co}]/u);
    expect(text.match(/<script/g)).toHaveLength(2);
    expect(text).toContain('&#60;img src&#61;x onerror&#61;alert(1)&#62;');
  });

  it.each([
    ['\u200b\u2066 \u0007', null],
    ['Client\u202e  \n tneilC', 'Client tneilC'],
    ['\u3164\u2800\u115f\ufe0f\u034f', null],
    ['A\u0301\u0302\u0303\u0304\u0305', '\u00c1\u0302\u0303'],
    ['\uff23lient', 'Client'],
    ['n'.repeat(61), `${'n'.repeat(60)}…`],
    ['\ud83d\udc1d'.repeat(60), '\ud83d\udc1d'.repeat(60)],
  ])('fits a name to be looked at', (given, shown) => {
    expect(showName(given)).toBe(shown);
  });

  it('says so where the letters of a name may look like others', async () => {
    const warning = 'Some of its letters are not Latin ones';
    for (const [name, isWarned] of [
      ['\u0421lient', true],
      ['Cli\u03bfnt', true],
      ['Clïent 2', false],
      ['\u5e02\u5834', false],
    ] as const) {
      open = interaction({ name });
      expect((await readPage()).text.includes(warning), name).toBe(isWarned);
    }
  });

  it('belongs to the browser in which it began', async () => {
    const { status, text } = await readPage('another');
    expect([status, text.includes('A client')]).toEqual([410, false]);
    expect(await reason(sendStep('prove', {}, keyOf(owner), 'another'))).toBe('connection_closed');
    expect(await reason(sendStep('decide', { decision: 'cancel' }, {}, 'another'))).toBe('connection_closed');
    expect(await triesOf()).toBeNull();
  });

  it('shows the store again when it is loaded again after the proof, and nothing after the decision', async () => {
    await sendStep('prove', {}, keyOf(owner));
    const again = (await readPage()).text;
    expect(again).toContain('<strong id="handle">page-owner</strong>');
    expect(again).toMatch(/<button class="main" type="button" id="allow">/);
    await sendStep('decide', { decision: 'allow' });
    expect((await readPage()).status).toBe(410);
  });

  it('says what fails as a page', async () => {
    const { find } = interactions;
    interactions.find = async () => {
      throw new Refusal('unavailable');
    };
    const { status, headers, text } = await readPage();
    interactions.find = find;
    expect([status, headers['content-type']]).toEqual([503, 'text/html; charset=utf-8']);
    expect(text).toContain('Nothing was allowed');
  });
});

describe('a proof', () => {
  it('is answered with the handle, and never stored', async () => {
    const { status, headers, body } = await sendStep('prove', {}, keyOf(owner));
    expect([status, body, headers['cache-control']]).toEqual([
      ...[200, { status: 'proven', handle: 'page-owner' }, 'private, no-store'],
    ]);
  });

  it.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ 'sec-fetch-site': 'none' }],
    [{ 'sec-fetch-site': '', origin: 'http://127.0.0.1:4020' }],
  ])('is taken from a page of ours alone: not with %o', async (headers) => {
    for (const answer of [
      sendStep('prove', {}, { ...keyOf(owner), ...headers }),
      sendStep('decide', { decision: 'allow' }, headers),
    ]) {
      expect(await reason(answer)).toBe('origin_refused');
    }
    expect(await triesOf()).toBeNull();
  });

  it.each([
    [{ origin: 'http://127.0.0.1:4020' }, true],
    [{}, true],
    [{ origin: 'null' }, false],
    [{ origin: 'https://example.org' }, false],
  ])('where the browser names no site, by its origin: %o', async (headers, isTaken) => {
    const { statusCode } = await server.inject({
      method: 'POST',
      url: `/oauth/interaction/${uid}/prove`,
      headers: { ...headers, ...keyOf(owner), cookie: `interaction=${uid}` },
    });
    expect(statusCode).toBe(isTaken ? 200 : 403);
  });

  it('takes a key in Authorization and a pairing code in its place, and nothing of either anywhere else', async () => {
    const code = makePairingCode(market.random, 'aisle');
    const recovery = makeRecoveryCode(market.random, 'aisle');
    const misplaced: [unknown, Record<string, string>][] = [
      [{ merchant_key: owner.key }, {}],
      [{ pairing_code: owner.key }, {}],
      [{ pairing_code: recovery }, {}],
      [{ code }, {}],
      [`{"pairing_code": "${code}"`, {}],
      [{}, { authorization: `Bearer ${code}` }],
      [{}, { authorization: `Bearer ${recovery}` }],
      [{}, { 'x-key': owner.key }],
    ];
    for (const [body, headers] of misplaced)
      expect(await reason(sendStep('prove', body, headers))).toBe('secret_in_payload');
    expect(await reason(sendStep('decide', { decision: code }))).toBe('secret_in_payload');
    expect(await reason(sendStep('prove', {}))).toBe('key_required');
    expect(await reason(sendStep('prove', { pairing_code: code }, keyOf(owner)))).toBe('invalid_fields');
    expect(await reason(sendStep('prove', { handle: 'x' }, keyOf(owner)))).toBe('unexpected_fields');
    expect(await reason(sendStep('prove', { pairing_code: 1 }))).toBe('invalid_fields');
    expect(await reason(sendStep('prove', 'pairing_code=x', { 'content-type': 'text/plain' }))).toBe(
      'unsupported_media_type',
    );
    expect(await triesOf()).toBeNull();
    expect(await reason(sendStep('prove', { pairing_code: code }))).toBe('pairing_code_refused');
    expect(await triesOf()).toBe(1);
    const said = JSON.stringify(lines);
    for (const secret of [owner.key, code, recovery]) expect(said).not.toContain(secret);
  });
});

describe('a decision', () => {
  it('to allow hands the proof on, and gives the address to go on at', async () => {
    expect(await reason(sendStep('decide', { decision: 'allow' }))).toBe('proof_missing');
    await sendStep('prove', {}, keyOf(owner));
    const { status, body } = await sendStep('decide', { decision: 'allow' });
    expect([status, body]).toEqual([200, { status: 'allowed', location: 'http://127.0.0.1:4020/oauth/resume' }]);
    expect(decisions).toEqual([
      { as: 'allowed', proof: expect.objectContaining({ merchantId: owner.id, provedBy: 'key' }) },
    ]);
    expect(await reason(sendStep('decide', { decision: 'allow' }))).toBe('connection_closed');
    expect(await reason(sendStep('decide', { decision: 'cancel' }))).toBe('connection_closed');
    expect(decisions).toHaveLength(1);
  });

  it('to cancel needs no proof', async () => {
    const { status, body } = await sendStep('decide', { decision: 'cancel' });
    expect([status, body['status'], decisions]).toEqual([200, 'canceled', [{ as: 'canceled' }]]);
  });

  it('that is neither is refused', async () => {
    for (const body of [{}, { decision: 'maybe' }, { decision: 'allow', scopes: [] }]) {
      expect((await sendStep('decide', body)).status).toBe(400);
    }
    expect(decisions).toEqual([]);
  });

  it('can be given again only where the key was replaced in the same moment', async () => {
    await sendStep('prove', {}, keyOf(owner));
    onAllow = async () => {
      throw new Refusal('proof_missing');
    };
    expect(await reason(sendStep('decide', { decision: 'allow' }))).toBe('proof_missing');
    expect((await readPage()).status).toBe(200);
    onAllow = async () => {
      throw new Refusal('unavailable');
    };
    expect(await reason(sendStep('decide', { decision: 'allow' }))).toBe('unavailable');
    expect((await readPage()).status).toBe(410);
  });
});
