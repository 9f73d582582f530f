import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HostedCaller } from '../../src/market/connect/interaction.ts';
import { testDatabase } from '../support/database.ts';
import { beginAuthorization, connectClient, discover, openConsent, refresh } from '../support/oauth-client.ts';
import { CLIENT_SHAPES, type ClientShape } from '../support/oauth-shapes.ts';
import { type OauthStage, startOauthStage } from '../support/oauth-stage.ts';

const db = testDatabase();
let stage: OauthStage;
let owner: Awaited<ReturnType<OauthStage['join']>>;

beforeAll(async () => {
  stage = await startOauthStage(db);
  owner = await stage.join('owner');
});
afterAll(() => stage.stop());

interface Expected {
  host: string | null;
  name: string;
  redirectHost: string;
  loopbackOnly: boolean;
  scopes: string[];
}

const EXPECTED: Record<keyof typeof CLIENT_SHAPES, Expected> = {
  claudeWeb: {
    host: 'claude.ai',
    name: 'Hosted assistant',
    redirectHost: 'claude.ai',
    loopbackOnly: false,
    scopes: ['market:read', 'market:me'],
  },
  claudeCode: {
    host: 'claude.ai',
    name: 'Terminal assistant',
    redirectHost: 'localhost',
    loopbackOnly: true,
    scopes: ['market:read', 'market:me'],
  },
  chatgpt: {
    host: 'chatgpt.com',
    name: 'ChatGPT',
    redirectHost: 'chatgpt.com',
    loopbackOnly: false,
    scopes: ['market:read', 'market:me', 'market:write'],
  },
  chatgptApp: {
    host: 'chatgpt.com',
    name: 'ChatGPT',
    redirectHost: 'chatgpt.com',
    loopbackOnly: false,
    scopes: ['market:read', 'market:me', 'market:write'],
  },
  cursor: {
    host: null,
    name: 'Cursor',
    redirectHost: 'cursor://anysphere.cursor-mcp',
    loopbackOnly: false,
    scopes: ['market:read'],
  },
  vscode: {
    host: 'vscode.dev',
    name: 'Visual Studio Code',
    redirectHost: '127.0.0.1',
    loopbackOnly: false,
    scopes: ['market:read', 'market:me'],
  },
  opencode: {
    host: 'opencode.ai',
    name: 'OpenCode',
    redirectHost: '127.0.0.1',
    loopbackOnly: true,
    scopes: ['market:read', 'market:me'],
  },
  codex: {
    host: 'chatgpt.com',
    name: 'Codex',
    redirectHost: '127.0.0.1',
    loopbackOnly: true,
    scopes: ['market:read', 'market:me'],
  },
};

describe.each(Object.entries(CLIENT_SHAPES))('a client like %s', (key, shape: ClientShape) => {
  const expected = EXPECTED[key as keyof typeof CLIENT_SHAPES];
  const { host, name, redirectHost, loopbackOnly, scopes } = expected;

  test('finds its way from the address to a token that stands for its merchant, and goes on with the next', async () => {
    const { server, begun, tokens } = await connectClient(stage.url, shape, async (page) => {
      const interaction = await stage.find(page);
      expect(interaction).toEqual({ uid: page.uid, client: { name, host, redirectHost, loopbackOnly }, scopes });
      return await stage.allow(page, owner.proof);
    });
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3_600, scope: scopes.join(' ') });
    const hosted = await stage.connector.authenticate(tokens.access_token);
    expect(hosted).toMatchObject({
      merchant: { id: owner.id, handle: 'owner', keyId: owner.proof.keyId },
      clientHost: host,
      proven: false,
    } satisfies Partial<Record<keyof HostedCaller, unknown>>);
    expect([...(hosted?.scopes ?? [])]).toEqual(scopes);

    const next = await refresh(server, begun.clientId, tokens.refresh_token ?? '');
    expect(next.status).toBe(200);
    expect(next.body['refresh_token']).not.toBe(tokens.refresh_token);
    const again = await stage.connector.authenticate(String(next.body['access_token']));
    expect(again).toEqual(hosted);
    const row = await db.database.one(sql`
      select client_id, client_name, client_host, redirect_host, scopes, proved_by, proven_at, revoked_at from hosted_grants
      where id = ${hosted?.grantId}`);
    expect(row).toEqual({
      client_id: begun.clientId,
      client_name: name,
      client_host: host,
      redirect_host: redirectHost,
      scopes,
      proved_by: 'key',
      proven_at: null,
      revoked_at: null,
    });
  });
});

test('each authorization asks for consent again, also in the same browser and for the same client', async () => {
  const shape = CLIENT_SHAPES.claudeWeb;
  const { server, begun, browser } = await connectClient(stage.url, shape, (page) => stage.allow(page, owner.proof));
  const again = beginAuthorization(server, { clientId: begun.clientId, shape });
  expect((await openConsent(again, browser)).status).toBe(200);
});

test('another merchant may be connected in the same browser, by the same client', async () => {
  const shape = CLIENT_SHAPES.claudeWeb;
  const other = await stage.join('another');
  const server = await discover(stage.url);
  const first = await connectClient(stage.url, shape, (page) => stage.allow(page, owner.proof));
  const begun = beginAuthorization(server, { clientId: first.begun.clientId, shape });
  const page = await openConsent(begun, first.browser);
  const stop = await first.browser.follow(await stage.allow(page, other.proof));
  expect(stop.url).toContain('code=');
});
